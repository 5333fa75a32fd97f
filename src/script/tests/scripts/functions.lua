
----
#!lua name=x
----
#!lua name=x

----
foo
----
#!lua
x
----
#!foo name=x

----
#!lua name=

----
#!lua name=a-b
redis.register_function("q",1)
----
#!lua name=a name=b

----
#!lua foo=1

----
#!lua name=lib1
return 1
----
#!lua name=lib2
x=
----
#!lua name=lib3
error("boom")
----
#!lua name=lib4
error({err="boom"})
----
#!lua name=lib5
error({})
----
#!lua name=lib6
x=1
----
#!lua name=lib7
return y
----
#!lua name=lib8
redis.register_function()
----
#!lua name=lib9
redis.register_function(1)
----
#!lua name=lib10
redis.register_function("a")
----
#!lua name=lib11
redis.register_function("a",1)
----
#!lua name=lib12
redis.register_function(1,function() end)
----
#!lua name=lib13
redis.register_function({},function() end)
----
#!lua name=lib14
redis.register_function("a",function() end,1)
----
#!lua name=lib15
redis.register_function("a-b",function() end)
----
#!lua name=lib16
redis.register_function("foo",function() end)
----
#!lua name=lib17
redis.register_function("a",function() end)
redis.register_function("a",function() end)
----
#!lua name=lib18
redis.register_function{}
----
#!lua name=lib19
redis.register_function{function_name="a"}
----
#!lua name=lib20
redis.register_function{function_name=1,callback=function() end}
----
#!lua name=lib21
redis.register_function{callback=function() end}
----
#!lua name=lib22
redis.register_function{function_name="a",callback=1}
----
#!lua name=lib23
redis.register_function{function_name="a",callback=function() end,flags=1}
----
#!lua name=lib24
redis.register_function{function_name="a",callback=function() end,flags={"x"}}
----
#!lua name=lib25
redis.register_function{function_name="a",callback=function() end,flags={1}}
----
#!lua name=lib26
redis.register_function{function_name="a",callback=function() end,description=1}
----
#!lua name=lib27
redis.register_function{function_name="a",callback=function() end,foo=1}
----
#!lua name=lib28
redis.register_function{function_name="a",callback=function() end,[1]=1}
----
#!lua name=lib29
redis.call("set","a","b")
----
#!lua name=lib30
redis.log(1,"x")
redis.register_function("zz",function() end)
----
#!lua name=lib31
redis.setresp(3)
----
#!lua name=lib32
KEYS[1]=1
----
#!lua name=lib33
local f=redis.register_function
redis.register_function("zz2",function() f("x",function() end) end)
----
#!lua name=x
redis.register_function("foo",function() end)
----
#!LUA name=z
redis.register_function("zz3",function() end)
----
#!lua name=lib35
redis.register_function{function_name="a",callback=function() end,flags={"no-writes","allow-oom","allow-stale","no-cluster","raw-arguments"}}
----
#!lua name=lib36
redis.register_function{function_name="abc",callback=function() end,flags={"no-writes","allow-oom","allow-stale","no-cluster","allow-cross-slot-keys"}}
----
#!lua name="y3"
redis.register_function{description="hello",function_name="a_2",callback=function(k,a) return {#k,#a,k[1],a[1]} end}
----
#!lua name=lib37
redis.register_function("g1",function() return redis.register_function end)
----
#!lua name=lib38
redis.register_function("g2",function() x=1 end)
----
#!lua name=lib39
redis.register_function("g3",function() return KEYS end)
----
#!lua name=lib40
local n=0 redis.register_function("g4",function() n=n+1 return n end)
----
#!lua name=lib41
redis.register_function("g5",function() return x end)
----
#!lua name=lib42
redis.register_function("g6",function() return redis.call("nope") end)
----
#!lua name=lib46
local x = _G
----
#!lua name=lib47
local x = string.rep("x",3)
local y = getmetatable
----
#!lua name=lib48
local x = pcall(function() return 1 end)
----
#!lua name=lib49
local x = math.random()
----
#!lua name=lib50
local x = tostring(1)
----
#!lua name=lib51
local x = cjson.encode(1)
----
#!lua name=lib52
local x = redis.pcall
----
#!lua name=lib53
local x = redis.sha1hex("a")
----
#!lua name=lib54
local x = redis.REDIS_VERSION
----
#!lua name=lib55
local x = redis.LOG_DEBUG
----
#!lua name=lib56
local x = redis.error_reply("x")
----
#!lua name=lib57
local x = redis.set_repl
----
#!lua name=lib58
local x = redis.acl_check_cmd
----
#!lua name=lib59
local x = redis.replicate_commands
----
#!lua name=lib60
redis.x=1
----
#!lua name=lib61
string.x=1
----
#!lua name=lib62
_G.x=1
----
#!lua name=lib63
local t=getmetatable(_G)
----
#!lua name=lib64
local t=next
----
#!lua name=lib65
local t=setmetatable({},{}) local q=rawset(t,1,2) local z=rawget(redis,"call") if z then redis.log(3,"has call") end redis.register_function("a",function() return 1 end)
----
#!lua name=lib66
redis.log(redis.LOG_WARNING, type(load), type(loadstring))
----
#!lua name=lib67
x.y=1
----
#!lua name=lib68
local t=nil
local u=t.x
----
#!lua name=lib69
assert(false,"zz")
----
#!lua name=lib71
redis.register_function("f1",function() end)
----
#!lua name=lib72
x=
----
#!lua name=lib73
redis.register_function("f1",function() end)
----
#!lua name=lib74
error("x")
----
#!lua name=lib75

----
#!lua NAME=lib76
redis.register_function("f1",function() end)
----
#!lua Name=lib77
redis.register_function("F1",function() end)
----
#!
x
----
#! name=x
x
----
#!foo
x
----
#!foo name=a-b

----
#!foo name=y

----
#!lua name=y foo=1

----
#!lua name=y flags=no-writes

----
#!lua "name=y

----
#!lua name=lib78 
redis.register_function{FUNCTION_NAME="zz",CALLBACK=function() end,Flags={"NO-WRITES"}}
----
#!lua name=lib79 
redis.register_function{FUNCTION_NAME="zz",CALLBACK=function() end,Flags={"no-writes"}}
----
#!lua name=lib80
redis.register_function{function_name="zz5",callback=function() end,flags={},description=""}
----
#!lua name=lib81
redis.register_function{function_name="zz6",callback=function() end,flags={"no-writes",nil,"allow-oom"},description="a\0b"}
----
#!lua name=lib82
redis.register_function{function_name="zz7",callback=function() end,flags={"no-writes","no-writes"},description={}}
----
#!lua name=lib83
redis.register_function{function_name="zz7",callback=function() end,flags={a=1},description={}}
----
#!lua name=lib84
redis.register_function("zz8\0q",function() end)
----
#!lua name=lib85
local f=redis.register_function
redis.register_function("zz9",function() f("x",function() end) end)
----
#!lua name=lib86
redis.register_function({function_name="zz10",callback=function() end},1)
----
#!lua name=lib87
redis.register_function("zz11",function() return redis.call("nope") end)
redis.register_function("zz12",function() return redis.call("set","x","y") end)
redis.register_function{function_name="zz13",callback=function() return redis.call("set","x","y") end,flags={"no-writes"}}
redis.register_function("zz14",function() return {redis.pcall("get"),type(KEYS)} end)
redis.register_function("zz15",function(k,a) return {k,a} end)
redis.register_function("zz16",function(k,a) loadstring("x=1")() end)
redis.register_function("zz17",function(k,a) return loadstring("return tostring(redis.call)~=nil")() end)
----
#!lua name=endless
while true do end
----
#!lua name=order
redis.register_function("o1",function() local s="" for k in pairs(redis) do s=s..k.."," end return s end)
redis.register_function("o2",function() return {type(getmetatable(_G)), type(redis.call), type(rawget(redis,"debug")), tostring(redis.register_function)} end)
====
foo FOO bar a A a_2 g1 g2 g3 g4 g4 g5 g6 zz zz2 nope zz9 zz11 zz12 zz14 zz15 ZZ11 zz16 zz17 f1 f2 o1 o2 abc zz5 zz6
