return {pcall(function() return redis.call('foo') end)}
----
local ok,e=pcall(function() return redis.call('foo') end) return {tostring(ok),type(e),tostring(e.err),tostring(e)}
----
local ok,e=pcall(redis.call,'foo') local r={} for k,v in pairs(e) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
local e=redis.pcall('foo') local r={} for k,v in pairs(e) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
local ok,e=xpcall(function() return redis.call('foo') end,function(x) return x end) local r={} for k,v in pairs(e) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
return redis.call('foo')
----
return redis.pcall('foo')
----
redis.call('set','x','1') return redis.call('lpush','x','y')
----
error('boom')
----
error({err='MY boom'})
----
error({err='MY boom',x=1})
----
error({})
----
error()
----
error(nil)
----
error(5)
----
error('boom',0)
----
error('boom',2)
----
error(true)
----
return {err='X'}
----
return {err='-X yes'}
----
return redis.error_reply('hello there')
----
return redis.error_reply('-hello there')
----
return redis.error_reply('ERR  there\r\nx')
----
local t=redis.error_reply('hello') local r={} for k,v in pairs(t) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
local t=redis.error_reply('-hello b') local r={} for k,v in pairs(t) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
return redis.error_reply()
----
return redis.error_reply(1)
----
return redis.error_reply({})
----
return redis.status_reply()
----
return redis.status_reply('a\r\nb')
----
return {ok='a\r\nb'}
----
return x
----
x=1
----
redis=1
----
redis.call=1
----
redis.foo=1
----
_G.foo=1
----
rawset(_G,'foo',1)
----
setmetatable(_G,nil)
----
getmetatable(_G).__index=1
----
getmetatable('').__index=1
----
getmetatable('').foo=1
----
setmetatable(redis,{})
----
table.insert(redis,1)
----
table.insert(_G,1,2)
----
table.remove(redis)
----
table.sort(redis)
----
return table.getn(redis)
----
return {pcall(table.setn,redis,1)}
----
KEYS=1
----
KEYS[1]='a' return KEYS
----
return _G.foo
----
return rawget(_G,'foo')
----
return tostring(getmetatable(redis))
----
local a = 1 +
----
return ...
----
return select('#',...)
----
if true then return end
----
for i=1,2 do
 x.y.z=1
end
----
local t=nil
return t.x
----
local t=nil t.x=1
----
return 1+{}
----
return 'a'+1
----
return redis.foo
----
return redis.foo()
----
return redis.call()
----
return redis.call({})
----
return redis.call('set',{},1)
----
return redis.call('set','a',nil)
----
return redis.call('set',nil)
----
return redis.call('set','x')
----
return redis.pcall()
----
return redis.pcall({})
----
redis.call('set','x',1.5) return redis.call('get','x')
----
redis.call('set','x',0.1) return redis.call('get','x')
----
redis.call('set','x',1e20) return redis.call('get','x')
----
redis.call('set','x',-0.0) return redis.call('get','x')
----
redis.call('set','x',1/0) return redis.call('get','x')
----
redis.call('set','x',0/0) return redis.call('get','x')
----
redis.call('set','x',true) return redis.call('get','x')
----
redis.call('set','x',12345678901234567890) return redis.call('get','x')
----
return 3.99
----
return -3.99
----
return 1e300
----
return 0/0
----
return -1/0
----
return 9007199254740993
----
return {1,2,nil,3}
----
return {1,false,true,3}
----
return false
----
return true
----
return {{}, {{1}}}
----
return function() end
----
return {function() end, 1}
----
return coroutine.create(function() end)
----
return {double=1.5}
----
return {double='1.5'}
----
return {map={a=1}}
----
return {set={a=true}}
----
return {big_number='123'}
----
return {big_number='1\r\n3'}
----
return {verbatim_string={format='txt',string='hello'}}
----
return {verbatim_string={format='text',string='hello'}}
----
return {verbatim_string=1}
----
redis.setresp(3) return {1,2}
----
redis.setresp(3) return redis.call('hgetall','foo')
----
redis.setresp(4)
----
redis.setresp()
----
redis.setresp(1,2)
----
redis.setresp('3') return 1
----
return redis.sha1hex()
----
return redis.sha1hex('')
----
return redis.sha1hex(1)
----
return redis.sha1hex({})
----
return redis.log()
----
return redis.log(1)
----
return redis.log(9,'x')
----
return redis.log('a','x')
----
return redis.log(1,'x','y')
----
return redis.set_repl()
----
return redis.set_repl(9)
----
return redis.set_repl(1)
----
return redis.set_repl('a')
----
return redis.replicate_commands()
----
return redis.breakpoint()
----
return redis.debug('x')
----
return redis.acl_check_cmd()
----
return redis.acl_check_cmd('foo')
----
return redis.acl_check_cmd('set','a')
----
return redis.acl_check_cmd('set','a','b')
----
return redis.acl_check_cmd({})
----
return redis.register_function('a',1)
----
return redis.call('select','1')
----
return redis.call('multi')
----
return redis.call('blpop','x','0')
----
return redis.call('eval','return 1',0)
----
return redis.call('subscribe','x')
----
return {redis.pcall('foo'),1}
----
local a={} local t=a for i=1,40 do a[1]={} a=a[1] end return t
----
return {ok=1}
----
return {err=1}
----
return {ok='a',err='b'}
----
return {err={}}
----
return {ok={}}
----
return setmetatable({},{__index=function() return 'x' end})
----
return {pcall(error)}
----
return {pcall(error,{err='x'})}
----
return pcall(error,{err='x'})
----
return {pcall()}
----
return {xpcall()}
----
return {pcall(function() error({err='q w'}) end)}
----
local ok,e=pcall(function() error({err='q w'}) end) local r={} for k,v in pairs(e) do r[#r+1]=k r[#r+1]=tostring(v) end return r
----
local ok,e=pcall(function() error('zz') end) return e
----
local e=redis.pcall('foo') error(e)
----
local e=redis.pcall('foo') return e
----
local e=redis.pcall('set','x') e.extra=1 return {e}
----
return {tostring(pcall(string.rep)),select(2,pcall(string.rep))}
----
return loadstring('return 1')()
----
return {loadstring('return 1 1')}
----
return {load(function() return nil end)}
----
return {loadstring(string.dump(function() return 1 end))}
----
return {pcall(loadstring,string.dump(function() return 1 end))}
----
return print
----
math.randomseed(5) return {math.random(1000000),math.random(1000000),tostring(math.random())}
----
return tostring(math.random(0))
----
return math.random(5,1)
----
return math.random(1,2,3)
----
return collectgarbage('count')>1
----
return collectgarbage('stop')
----
return {collectgarbage()}
----
return string.format('%5.2f|%d|%s|%q|%x',1.5,3,'a','b\n"',255)
----
return tostring(1e15)..tostring(1e100)..tostring(0.1)..tostring(2^53)
----
return cjson.encode({1,2,{a='/'}})
----
return {getmetatable('').__index == string and 1 or 0}
----
return {next(redis)~=nil}
----
return {#redis, #_G}
----
return _G
----
return redis
----
return cjson.encode(_G)
----
return cjson.encode(redis)
----
return #cmsgpack.pack(math)
----
return coroutine.wrap(function() redis.call('foo') end)()
----
return {coroutine.resume(coroutine.create(function() redis.call('foo') end))}
----
return {coroutine.resume(coroutine.create(function() error('foo') end))}
----
coroutine.yield(1)
----
return pcall(coroutine.yield,1)
----
local function f() return f() end
----
local function f() return 1+f() end return f()
----
return string.rep('x',10)
----
return redis.call('set','x','y','NX','XX')
----
#!lua
return 1
----
#!lua flags=foo
return 1
----
#!lua flags=no-writes,
return 1
----
#!lua foo=1
return 1
----
#!lua name=foo
return 1
----
#!foo
return 1
----
#!luax
return 1
----
#!lua flags=no-writes flags=allow-oom
return 1
----
#!lua flags=
return 1
----
#!lua flags=no-writes
return x
----
#!lua
error('x')
----
#!lua flags=allow-stale,no-cluster,allow-oom,allow-cross-slot-keys,no-writes
return 1
----
#!lua
----
#!
return 1
----
#!lua flags=no-writes return 1
----
#!lua  flags=no-writes
return 1
----
#!lua	flags=no-writes
return 1
----
#!lua "flags=no-writes"
return 1
----
return #ARGV + #KEYS
----
return __redis__err__handler('x')
----
return __redis__err__handler({err='x'})
----
return tostring(getmetatable(_G).__index)
----
return getmetatable(_G).__index(_G,'foo')
----
return getmetatable(_G).__index(_G)
----
return getmetatable(_G).__index(_G,{})
----
return _G[{}]
----
return _G[1]
----
_G[1]=1
----
_G[{}]=1
----
foo=nil
----
local t=setmetatable({},{__index=_G}) return t.foo
----
local t=setmetatable({},{__newindex=_G}) t.foo=1
----
return os.time()
----
return type(os.clock())
----
return {unpack({1,2,3})}
----
return {unpack(redis)}
----
return {ipairs(redis)(redis,0)}
----
return table.concat(redis)
----
table.foreach(struct,function(k,v) end) return 1
----
return table.maxn(redis)
----
return pairs({})==next
----
return {pcall(load,1)}
----
return {load(function() error('q') end)}
----
return {load('return 1')}
----
return {loadstring('x=','=chunk')}
----
return {loadstring('x=','@chunk')}
----
return {loadstring('x=\n\n1 1')}
----
return {pcall(loadstring('x=1'))}
----
return {loadstring('return KEYS[1]')()}
----
return loadstring('return 5','n')()
----
local f=loadstring('error("z")','@cc') return {pcall(f)}
----
loadstring('error("z")','@cc')()
----
local function f()
 error('deep')
end
f()
----
local function f()
 error('deep',2)
end

f()
----
local t=setmetatable({},{__index=function(t,k) error('idx') end})
return t.x
----
table.sort({3,2,1},function(a,b) error('cmp') end)
----
string.gsub('abc','.',function() redis.call('zz') end)
----
return pcall(pcall)
----
return {pcall(pcall,error)}
----
return {xpcall(function() error({err='E x'}) end, function(e) return e.err..'!' end)}
----
return {xpcall(error,function(e) return 5 end)}
----
return redis.call('set','x','y','PX')
----
return redis.call('SET','x','y')
----
return redis.pcall('incr','nope','x')
----
return redis.call('ping')
----
return type(redis.call('ping'))..redis.call('ping').ok
----
return redis.call('echo','x')
----
return redis.call('get','none')
----
return type(redis.call('get','none'))
----
return type(redis.call('blpop','none',0))
----
redis.call('rpush','l','a','b') return redis.call('lrange','l',0,-1)
----
return redis.call('mget','a','b')
----
return redis.call('hgetall','foo')
----
redis.setresp(3) return type(redis.call('get','none'))
----
redis.setresp(3) redis.call('hset','h','a','1') local r=redis.call('hgetall','h') return {type(r),type(r.map),r.map.a}
----
redis.setresp(3) redis.call('hset','h','a','1') return redis.call('hgetall','h')
----
redis.setresp(3) redis.call('sadd','s','a') return redis.call('smembers','s')
----
redis.setresp(3) redis.call('sadd','s','a') local r=redis.call('smembers','s') local o={} for k,v in pairs(r) do o[#o+1]=k o[#o+1]=type(v) for a,b in pairs(v) do o[#o+1]=tostring(a) o[#o+1]=tostring(b) end end return o
----
redis.setresp(3) redis.call('zadd','z','1.5','a') local r=redis.call('zscore','z','a') local o={type(r)} for k,v in pairs(r) do o[#o+1]=k o[#o+1]=tostring(v) end return o
----
redis.setresp(3) redis.call('zadd','z','1.5','a') return redis.call('zscore','z','a')
----
redis.setresp(3) redis.call('zadd','z','1.5','a') return redis.call('zrange','z',0,-1,'withscores')
----
redis.setresp(3) return redis.call('debug','protocol','bignum')
----
redis.setresp(3) return redis.call('debug','protocol','verbatim')
----
redis.setresp(3) return redis.call('debug','protocol','true')
----
redis.setresp(3) return redis.call('debug','protocol','null')
----
redis.setresp(3) return redis.call('debug','protocol','attrib')
----
redis.setresp(3) local r=redis.call('debug','protocol','bignum') local o={type(r)} for k,v in pairs(r) do o[#o+1]=k o[#o+1]=tostring(v) end return o
----
redis.setresp(3) local r=redis.call('debug','protocol','verbatim') local o={type(r)} for k,v in pairs(r) do o[#o+1]=k for a,b in pairs(v) do o[#o+1]=a o[#o+1]=b end end return o
----
redis.setresp(3) return true
----
redis.setresp(3) return false
----
redis.setresp(3) return nil
----
redis.setresp(3) return {true,false,nil}
----
redis.setresp(3) return {1,{double=3},{map={a=1,b=false}},{set={x=true,y=1}},{big_number='12'},{verbatim_string={format='txt',string='x'}}}
----
return {double=1/0}
----
return {double=-1/0}
----
return {double=0/0}
----
return {double=3}
----
return {double=3.14159265358979}
----
return {double=1e100}
----
return {map={}}
----
return {map={1,2,3}}
----
return {set={1,2,3}}
----
return {map={[{}]=1}}
----
return {map=1}
----
return {set=1}
----
return {big_number=1}
----
return {big_number='a'}
----
return {verbatim_string={}}
----
return {verbatim_string={format='txt'}}
----
return {verbatim_string={format=1,string=2}}
----
return {verbatim_string={format='abcdef',string='x'}}
----
return {verbatim_string={format='a',string='x'}}
----
return {double=1.5,map={a=1}}
----
return {map={a=1},set={b=1}}
----
return {ok='x',double=1}
----
return redis.status_reply('x')
----
local t=redis.status_reply('x') local o={} for k,v in pairs(t) do o[#o+1]=k o[#o+1]=v end return o
----
return redis.status_reply(1)
----
return redis.error_reply('')
----
return redis.error_reply('-')
----
return redis.error_reply('a','b')
----
return redis.error_reply('\r\n')
----
return {err=''}
----
return {ok=''}
----
return tostring(redis.setresp(2))
----
return #{redis.setresp(2)}
----
return {redis.log(redis.LOG_DEBUG,'x')}
----
return {pcall(math.floor)}
----
return {type(os),os.clock()>=0}
----
return {string.format('%s',1e15), string.format('%d',2^31), string.format('%d',-2^63), 2^63, 1e15}
----
return {pcall(string.format,'%d','x')}
----
return {#string.dump(function() end)}
----
return {tostring(loadstring('\27Lua'))}
----
return {loadstring('\27Lua')}
----
return {load(coroutine.wrap(function() coroutine.yield('return ') coroutine.yield('7') end))}
----
return load(coroutine.wrap(function() coroutine.yield('return ') coroutine.yield('7') end))()
----
return {pcall(coroutine.resume)}
----
return {coroutine.running()}
----
return coroutine.status(coroutine.create(function() end))
----
local co=coroutine.wrap(function() return pcall(coroutine.yield,1) end) return {co()}
----
local s='' for k,v in pairs(redis) do s=s..k..',' end return s
----
local s='' for k,v in pairs(string) do s=s..k..',' end return s
----
local s='' for k,v in pairs(math) do s=s..k..',' end return s
----
local s='' for k,v in pairs(table) do s=s..k..',' end return s
----
local s='' for k,v in pairs(cjson) do s=s..k..',' end return s
----
local s='' for k,v in pairs(cmsgpack) do s=s..k..',' end return s
----
local s='' for k,v in pairs(bit) do s=s..k..',' end return s
----
local s='' for k,v in pairs(struct) do s=s..k..',' end return s
----
local s='' for k,v in pairs(coroutine) do s=s..k..',' end return s
----
return nil
----
return {true,false}
----
return 1.5
----
return {err='a\0b'}
----
return {ok='a\0b'}
----
error({err='ERR a\0b'})
----
error('a\0b')
----
return redis.error_reply('a\0b c')
----
return redis.status_reply('a\0b c')
----
return {err='\r\n a\n'}
----
return {big_number='1\0\n2'}
----
return {verbatim_string={format='\200\201x',string='q'}}
----
error({err=5})
----
error({err={}})
----
error({err=''})
----
error({err='noerrorcode'})
----
local e=redis.pcall('nope') e.err='ERR changed' error(e)
----
return {pcall(error,{err={}})}
----
local ok,e=pcall(error,setmetatable({},{__index=function(t,k) return k end})) return e
----
error(setmetatable({},{__index=function(t,k) return k end}))
----
local t={} for i=1,7000 do t[i]=i end return select('#',unpack(t))
----
local t={} for i=1,9000 do t[i]=i end return select('#',unpack(t))
----
return {1,2,{3,{4,{5,{6,{7,{8,{9}}}}}}}}
