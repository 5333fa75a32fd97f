return cjson.encode({})
----
return cjson.encode({{}})
----
return cjson.encode({1,2,3})
----
return cjson.encode({1,nil,3})
----
return cjson.encode({[1]=1,[2]=2,[4]=4})
----
return cjson.encode({[1]=1,[100]=2})
----
return cjson.encode({[10]=1})
----
return cjson.encode({[11]=1})
----
return cjson.encode({[3]=1,[6]=2,[30]=1})
----
return cjson.encode({[0]=1,[1]=2})
----
return cjson.encode({[1.5]=1})
----
return cjson.encode({[-1]=1})
----
return cjson.encode({1,2,a=3})
----
return cjson.encode({[true]=1})
----
return cjson.encode({[{}]=1})
----
return cjson.encode({a={b={c={}}}})
----
return cjson.encode('a"b\\c/d\b\f\n\r\t\0\1\31\127\128\255')
----
return cjson.encode(1)..cjson.encode(1.5)..cjson.encode(-0)..cjson.encode(1e15)..cjson.encode(1e14)..cjson.encode(123456789012345678)
----
return cjson.encode(0.1)..','..cjson.encode(1/3)..','..cjson.encode(1e-10)..','..cjson.encode(1e300)..','..cjson.encode(2^53)
----
return cjson.encode(1/0)
----
return cjson.encode(-1/0)
----
return cjson.encode(0/0)
----
cjson.encode_invalid_numbers(true) return cjson.encode({1/0,-1/0,0/0,-(0/0)})
----
cjson.encode_invalid_numbers('on') return cjson.encode({1/0,-1/0,0/0})
----
cjson.encode_invalid_numbers('null') return cjson.encode({1/0,-1/0,0/0})
----
local r = {cjson.encode_invalid_numbers(), cjson.encode_invalid_numbers('null'), cjson.encode_invalid_numbers(), cjson.encode_invalid_numbers(false)} return cjson.encode(r)
----
return cjson.encode_invalid_numbers('x')
----
return cjson.encode_invalid_numbers(1)
----
return cjson.encode_invalid_numbers(1,2)
----
return cjson.encode(true)..cjson.encode(false)..cjson.encode(nil)..cjson.encode(cjson.null)
----
return cjson.encode()
----
return cjson.encode(1,2)
----
return cjson.encode(function() end)
----
return cjson.encode({function() end})
----
return cjson.encode(coroutine.create(function() end))
----
return cjson.encode({a=print_me})
----
local t={} for i=1,999 do t={t} end return #cjson.encode(t)
----
local t={} for i=1,1000 do t={t} end return #cjson.encode(t)
----
local t={} t[1]=t return cjson.encode(t)
----
local t={} t.a=t return cjson.encode(t)
----
cjson.encode_max_depth(2) return {cjson.encode({{}}), select(2,pcall(cjson.encode,{{{}}}))}
----
return cjson.encode_max_depth(0)
----
return cjson.encode_max_depth('x')
----
return {cjson.encode_max_depth(), cjson.encode_max_depth(5), cjson.encode_max_depth()}
----
return cjson.encode_max_depth(1,2)
----
return {cjson.decode_max_depth(), cjson.decode_max_depth(5), cjson.decode_max_depth()}
----
cjson.decode_max_depth(2) return {cjson.decode('[[]]')[1] and 1, select(2,pcall(cjson.decode,'[[[]]]'))}
----
return cjson.encode_number_precision(0)
----
return cjson.encode_number_precision(17)
----
return {cjson.encode_number_precision(), cjson.encode_number_precision(3), cjson.encode(1/3)}
----
cjson.encode_number_precision(16) return cjson.encode({1/3,0.1,1e16,123456789.123456789})
----
return {cjson.encode_keep_buffer(), cjson.encode_keep_buffer(false), cjson.encode_keep_buffer('on'), cjson.encode_keep_buffer()}
----
local a,b,c = cjson.encode_sparse_array() return {tostring(a),b,c}
----
local a,b,c = cjson.encode_sparse_array(true,3,20) return {tostring(a),b,c,cjson.encode({[21]=1}),cjson.encode({[100]=1,[2]=2})}
----
cjson.encode_sparse_array(true) return cjson.encode({[21]=1,[500]=2})
----
cjson.encode_sparse_array(false,0) return #cjson.encode({[500]=2})
----
return cjson.encode_sparse_array(true,-1)
----
return cjson.encode_sparse_array(true,1,-1)
----
return cjson.encode_sparse_array(1,2,3,4)
----
return cjson.encode_sparse_array('on')
----
return {cjson.decode_invalid_numbers(), cjson.decode_invalid_numbers(false), cjson.decode_invalid_numbers('on')}
----
local j=cjson.new() j.encode_max_depth(1) return {j.encode({}), select(2,pcall(j.encode,{{}})), cjson.encode({{}})}
----
local j=cjson.new() local n={} for k,v in pairs(j) do n[#n+1]=k end table.sort(n) return n
----
local j=cjson.new() j.x=1 return j.x
----
return cjson.new(1) and 1
----
return cjson.decode('[1,2,3]')
----
return cjson.decode('{"a":1}').a
----
return cjson.decode(' [ 1 , "a" , true , false , null , {} , [] ] ')
----
return tostring(cjson.decode('null'))
----
return {tostring(cjson.decode('[null]')[1] == cjson.null), type(cjson.null), tostring(cjson.null)}
----
return cjson.decode('"a\\"b\\\\c\\/d\\b\\f\\n\\r\\te\\u0041\\u00e9\\u20ac\\ud83d\\ude00"')
----
return cjson.decode('')
----
return cjson.decode(' ')
----
return cjson.decode('[')
----
return cjson.decode('[1')
----
return cjson.decode('[1,')
----
return cjson.decode('[1,]')
----
return cjson.decode('[1 2]')
----
return cjson.decode('{')
----
return cjson.decode('{1:2}')
----
return cjson.decode('{"a"}')
----
return cjson.decode('{"a" 1}')
----
return cjson.decode('{"a":}')
----
return cjson.decode('{"a":1')
----
return cjson.decode('{"a":1,}')
----
return cjson.decode('{"a":1 "b":2}')
----
return cjson.decode('{"a":1}}')
----
return cjson.decode('[]]')
----
return cjson.decode('tru')
----
return cjson.decode('True')
----
return cjson.decode('nul')
----
return cjson.decode('x')
----
return cjson.decode('@')
----
return cjson.decode('"abc')
----
return cjson.decode('"a\\qb"')
----
return cjson.decode('"a\\u12"')
----
return cjson.decode('"a\\ud800"')
----
return cjson.decode('"a\\ud800\\u0041"')
----
return cjson.decode('"a\\udc00"')
----
return cjson.decode('"\\u0000"')
----
return cjson.decode('"a\0b"')
----
return cjson.decode('\0"a"')
----
return cjson.decode('1\0')
----
return cjson.decode('[1]\0')
----
return cjson.decode('12\0')
----
return tostring(cjson.decode('1.5e3'))..tostring(cjson.decode('-0'))..tostring(cjson.decode('1E5'))
----
return tostring(cjson.decode('0x10'))
----
return tostring(cjson.decode('+5'))
----
return tostring(cjson.decode('-inf'))
----
return tostring(cjson.decode('Infinity'))
----
return tostring(cjson.decode('nan'))
----
return tostring(cjson.decode('NaN'))
----
return tostring(cjson.decode('-'))
----
return tostring(cjson.decode('-x'))
----
return tostring(cjson.decode('012'))
----
return tostring(cjson.decode('1.'))
----
return tostring(cjson.decode('.5'))
----
return tostring(cjson.decode('1e'))
----
return tostring(cjson.decode('1e5x'))
----
return tostring(cjson.decode('i'))
----
return tostring(cjson.decode('1e999'))
----
cjson.decode_invalid_numbers(false) return tostring(cjson.decode('0x10'))
----
cjson.decode_invalid_numbers(false) return tostring(cjson.decode('012'))
----
cjson.decode_invalid_numbers(false) return tostring(cjson.decode('inf'))
----
cjson.decode_invalid_numbers(false) return tostring(cjson.decode('-nan'))
----
cjson.decode_invalid_numbers(false) return tostring(cjson.decode('+1'))
----
return cjson.decode()
----
return cjson.decode(1)
----
return cjson.decode({})
----
return cjson.decode('1','2')
----
return cjson.decode(string.rep('[',1001))
----
return #cjson.decode(string.rep('[',1000)..string.rep(']',1000))
----
return cjson.decode(string.rep('{"a":',1001))
----
local s='' for k,v in pairs(cjson.decode('{"a":1,"b":2,"c":3,"dd":4,"ee":5,"a":6}')) do s=s..k..v end return s
----
return cjson.encode(cjson.decode('{"z":1,"y":[1,{"x":null}],"x":{"1":2}}'))
----
return cjson.encode(cjson.decode('{"1":2,"2":3}'))
----
return cmsgpack.pack()
----
return cmsgpack.pack(1,2,3)
----
return cmsgpack.pack({1,2,3})
----
return cmsgpack.pack({})
----
return cmsgpack.pack({a=1})
----
return cmsgpack.pack({1,2,nil,4})
----
return cmsgpack.pack({[1]=1,[3]=3})
----
return cmsgpack.pack({[1]=1,a=2})
----
return cmsgpack.pack({[1.5]=1})
----
return cmsgpack.pack({[0]=1})
----
return cmsgpack.pack(nil,true,false,'x',cjson.null)
----
return cmsgpack.pack(function() end)
----
return cmsgpack.pack(0,127,128,255,256,65535,65536,4294967295,4294967296,2^53,2^63,2^64)
----
return cmsgpack.pack(-1,-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649,-2^53,-2^63,-2^64)
----
return cmsgpack.pack(0.5,0.1,1e300,-0.0,1/0,-1/0,0/0)
----
return {#cmsgpack.pack(('x'):rep(31)),#cmsgpack.pack(('x'):rep(32)),#cmsgpack.pack(('x'):rep(255)),#cmsgpack.pack(('x'):rep(256)),#cmsgpack.pack(('x'):rep(65535)),#cmsgpack.pack(('x'):rep(65536))}
----
local t={} for i=1,15 do t[i]=i end local a=cmsgpack.pack(t) t[16]=16 local b=cmsgpack.pack(t) return {a,b}
----
local t={} for i=1,70000 do t[i]=1 end return #cmsgpack.pack(t)
----
local t={} for i=1,70000 do t['k'..i]=1 end return #cmsgpack.pack(t)
----
local t={} for i=1,20 do t={t} end return cmsgpack.pack(t)
----
local t={} t.a=t return cmsgpack.pack(t)
----
return {cmsgpack.unpack(cmsgpack.pack(1,'a',true,{1,2},1.5))}
----
return {cmsgpack.unpack('')}
----
return cmsgpack.unpack()
----
return cmsgpack.unpack({})
----
return cmsgpack.unpack('\193')
----
return cmsgpack.unpack('\205\1')
----
return cmsgpack.unpack('\165abc')
----
return cmsgpack.unpack('\147\1\2')
----
return cmsgpack.unpack('\130\161a\1')
----
return cmsgpack.unpack('\196\3abc')
----
return cmsgpack.unpack('\197\0\3abc')
----
return cmsgpack.unpack('\198\0\0\0\3abc')
----
return cmsgpack.unpack('\217\3abc')
----
return cmsgpack.unpack('\199\1\5a')
----
return cmsgpack.unpack('\212\1a')
----
return tostring(cmsgpack.unpack('\207\255\255\255\255\255\255\255\255'))
----
return tostring(cmsgpack.unpack('\211\128\0\0\0\0\0\0\0'))
----
return tostring(cmsgpack.unpack('\202\63\128\0\0'))
----
return {cmsgpack.unpack('\208\128'), cmsgpack.unpack('\209\128\0'), cmsgpack.unpack('\210\128\0\0\0'), cmsgpack.unpack('\224')}
----
return {cmsgpack.unpack('\192\1')}
----
return {cmsgpack.unpack('\129\192\1')}
----
return {cmsgpack.unpack('\130\1\2\2\3')}
----
return {cmsgpack.unpack('\129\203\127\248\0\0\0\0\0\0\1')}
----
return {cmsgpack.unpack_one('\1\2\3')}
----
return {cmsgpack.unpack_one('\1\2\3',1)}
----
return {cmsgpack.unpack_one('\1\2\3',2)}
----
return {cmsgpack.unpack_one('\1\2\3',3)}
----
return {cmsgpack.unpack_one('\1\2\3',4)}
----
return {cmsgpack.unpack_one('\1\2\3',-1)}
----
return {cmsgpack.unpack_limit('\1\2\3',2)}
----
return {cmsgpack.unpack_limit('\1\2\3',2,1)}
----
return {cmsgpack.unpack_limit('\1\2\3',0)}
----
return {cmsgpack.unpack_limit('\1\2\3',0,1)}
----
return {cmsgpack.unpack_limit('\1\2\3',-1)}
----
return {cmsgpack.unpack_limit('\1\2\3',5)}
----
return {cmsgpack.unpack_limit('\1\2\3')}
----
return {cmsgpack.unpack_one('')}
----
return {pcall(cmsgpack.unpack, string.rep('\1', 10000))}
----
return #{cmsgpack.unpack(string.rep('\1', 7000))}
----
return {struct.pack('>I2i4b', 1, -2, 3)}
----
return struct.pack('<hHlLTiI', -1, 65535, -1, 1, 2, -3, 4)
----
return struct.pack('!8bd', 1, 2.5)
----
return struct.pack('!4bi4bi8', 1, 2, 3, 4)
----
return struct.pack('>!4bi4', 1, 2)
----
return struct.pack('fd', 1.5, 2.5)
----
return struct.pack('>fd', 1.5, 2.5)
----
return struct.pack('s', 'abc')..struct.pack('c2', 'abc')..struct.pack('c0', 'abc')
----
return struct.pack('c4', 'abc')
----
return struct.pack('x b x', 5)
----
return struct.pack('i16', -2)..struct.pack('>i3', -2)..struct.pack('I32', 5)
----
return struct.pack('i33', 1)
----
return struct.pack('i0', 1)
----
return struct.pack('i99999999999', 1)
----
return struct.pack('!3b', 1)
----
return struct.pack('!0b', 1)
----
return struct.pack('!b', 1)
----
return struct.pack('!bi!2i', 1, 2, 3)
----
return struct.pack('y', 1)
----
return struct.pack('b')
----
return struct.pack('b', 'x')
----
return struct.pack('b', '7')
----
return struct.pack('bbb', 300, -300, 1.7)
----
return struct.pack('I8', 2^63)..struct.pack('I8', 2^64)..struct.pack('I8', -1)..struct.pack('i8', 1e300)
----
return struct.pack('')
----
return struct.pack()
----
return struct.size('bhilfdTx')
----
return struct.size('!bhilfdTx')
----
return struct.size('!4bd')
----
return struct.size('s')
----
return struct.size('c0')
----
return struct.size('c10i3')
----
return struct.size('q')
----
return struct.size('c2147483647c2147483647')
----
return struct.size('c2147483648')
----
return {struct.unpack('>I2i4b', '\0\1\255\255\255\254\3')}
----
return {struct.unpack('<I2', '\1\0\5', 2)}
----
return {struct.unpack('b', '')}
----
return {struct.unpack('b', 'a', 2)}
----
return {struct.unpack('b', 'a', 3)}
----
return {struct.unpack('', 'a', 3)}
----
return {struct.unpack('', 'a', 2)}
----
return {struct.unpack('b', 'a', 0)}
----
return {struct.unpack('b', 'a', -1)}
----
return {struct.unpack('s', 'abc\0def')}
----
return {struct.unpack('ss', 'abc\0def')}
----
return {struct.unpack('bc0', '\3abcdef')}
----
return {struct.unpack('bc0', '\9abc')}
----
return {struct.unpack('c0', 'abc')}
----
return {struct.unpack('sc0', 'a\0abc')}
----
return {struct.unpack('bc0', '\255abc')}
----
return {struct.unpack('c2x c1', 'abcd')}
----
local a,b=struct.unpack('fd', struct.pack('fd',1.5,-2.25)) return {tostring(a),tostring(b)}
----
local a,b=struct.unpack('>fd', struct.pack('>fd',1.5,-2.25)) return {tostring(a),tostring(b)}
----
return {tostring(struct.unpack('I8','\255\255\255\255\255\255\255\255')), tostring(struct.unpack('i8','\255\255\255\255\255\255\255\255'))}
----
return {tostring(struct.unpack('i16',string.rep('\255',16))), tostring(struct.unpack('>i16',string.rep('\1',16))), tostring(struct.unpack('<I9',string.rep('\1',9)))}
----
return {struct.unpack('i0','x')}
----
return {struct.unpack('!4bi4', '\1\0\0\0\2\0\0\0')}
----
return {struct.unpack(string.rep('b',9000), string.rep('a',9000))}
----
return {struct.unpack('b', 1)}
----
return {struct.unpack('c2147483647', 'a')}
----
return {bit.tobit(0xffffffff), bit.tobit(2^32), bit.tobit(2^31), bit.tobit(-1), bit.tobit(1.5), bit.tobit(2.5), bit.tobit(1e20)}
----
return {bit.bnot(0), bit.band(7,3,1), bit.bor(1,2,4), bit.bxor(1,3), bit.lshift(1,31), bit.lshift(1,32), bit.rshift(-1,28), bit.arshift(-16,2), bit.rol(0x12345678,8), bit.ror(0x12345678,8), bit.bswap(0x12345678)}
----
return {bit.tohex(255), bit.tohex(-1), bit.tohex(255,4), bit.tohex(255,-4), bit.tohex(255,0), bit.tohex(255,20), bit.tohex(255,-20), bit.tohex(2^40+10)}
----
return bit.band()
----
return bit.band('a')
----
return bit.band('7',{})
----
return bit.lshift(1)
----
return bit.tohex(1,'x')
----
return bit.tohex(1,nil)
----
return {bit.band(1), bit.tobit('0x10')}
----
return {bit.tobit(0/0), bit.tobit(1/0), bit.lshift(1,-1), bit.rol(1,33)}
----
return {string.find('hello world','o w')}
----
return {string.find('hello','l+')}
----
return {string.find('hello','(l)(l)')}
----
return {string.find('hello','()ll()')}
----
return {string.find('a.b','.',1,true)}
----
return {string.find('a.b','.',-1,true)}
----
return {string.find('abc','b',-10)}
----
return {string.find('abc','b',10)}
----
return {string.find('abc','',10)}
----
return {string.find('abc','',4)}
----
return {string.find('','')}
----
return {string.find('a\0b','\0')}
----
return {string.find('a\0b','%z')}
----
return {string.find('a\0b','a\0x')}
----
return {string.find('a\0b.','a\0.')}
----
return {string.match('key = value','^(%w+)%s*=%s*(%w+)$')}
----
return {string.match('  trim  ','^%s*(.-)%s*$')}
----
return {string.match('f(a(b)c)d','%b()')}
----
return {string.match('THE (quick) fox','%f[%a]%a+%f[%A]')}
----
return {string.match('abcabc','(abc)%1')}
----
return {string.match('abc','%1')}
----
return {string.match('abc','(%1)')}
----
return {string.match('abc','()%1')}
----
return {string.match('2024-01-02','(%d+)-(%d+)-(%d+)')}
----
return {string.match('x[]y','[]]')}
----
return {string.match('x[]y','[^]]+')}
----
return {string.match('a-z','[a%-z]+')}
----
return {string.match('a-z','[a-]+')}
----
return {string.match('a]','[%]]')}
----
return {string.match('abc','[a-c]*')}
----
return {string.match('abc','.-')}
----
return {string.match('abc','a?b?c?d?')}
----
return {string.match('abc','[')}
----
return {string.match('abc','[a')}
----
return {string.match('abc','[^')}
----
return {string.match('abc','[]')}
----
return {string.match('abc','[%')}
----
return {string.match('abc','[a%')}
----
return {string.match('abc','%')}
----
return {string.match('abc','%b')}
----
return {string.match('abc','%bx')}
----
return {string.match('abc','%f')}
----
return {string.match('abc','%fa')}
----
return {string.match('abc','(')}
----
return {string.match('abc','(a')}
----
return {string.match('abc',')')}
----
return {string.match('abc','a)')}
----
return {string.match('abc','^b')}
----
return {string.match('a^b','a^b')}
----
return {string.match('a$b','a$b')}
----
return {string.match('abc','*')}
----
return {string.match('a*c','*')}
----
return {string.match('abc','a**')}
----
return {string.match('hello',('()'):rep(33))}
----
return {string.match('hello',('()'):rep(32))}
----
local r={} for w in string.gmatch('one two  three','%a+') do r[#r+1]=w end return r
----
local r={} for k,v in string.gmatch('a=1, b=2','(%w+)=(%w+)') do r[#r+1]=k..v end return r
----
local r={} for w in string.gmatch('abc','') do r[#r+1]='x'..w end return r
----
local r={} for w in string.gmatch('abc','()') do r[#r+1]=w end return r
----
local r={} for w in string.gmatch('^a^a','^a') do r[#r+1]=w end return r
----
local r={} for w in string.gfind('ab','.') do r[#r+1]=w end return r
----
return {string.gmatch('a','a')(), pcall(string.gmatch,'a')}
----
return {string.gsub('hello world','o','0')}
----
return {string.gsub('hello world','o','0',1)}
----
return {string.gsub('hello world','o','0',0)}
----
return {string.gsub('hello world','o','0',-1)}
----
return {string.gsub('hello','','-')}
----
return {string.gsub('hello','x*','-')}
----
return {string.gsub('abc','%w','%0%0')}
----
return {string.gsub('abc','%w','%1')}
----
return {string.gsub('abc','(%w)(%w)','%2%1')}
----
return {string.gsub('abc','%w','%%')}
----
return {string.gsub('abc','%w','%x')}
----
return {string.gsub('abc','b','%')}
----
return {string.gsub('abc','(b)()','%2')}
----
return {string.gsub('abc','%w',{a='1',b=true,c=false})}
----
return {string.gsub('abc','%w',{a=1.5})}
----
return {string.gsub('abc','%w',{a={}})}
----
return {string.gsub('abc','%w',{b=true})}
----
return {string.gsub('abc','%w',function(c) if c=='b' then return 'X' end end)}
----
return {string.gsub('abc','(%w)(%w)',function(a,b) return b..a end)}
----
return {string.gsub('abc','%w',function() return nil end)}
----
return {string.gsub('abc','%w',function() return false end)}
----
return {string.gsub('abc','%w',function() return 5 end)}
----
return {string.gsub('abc','%w',function() error('in') end)}
----
return {string.gsub('abc','^%w','X')}
----
return {string.gsub('abc','%w$','X')}
----
return {string.gsub('abc','b',5)}
----
return {string.gsub('abc')}
----
return {string.gsub('abc','b')}
----
return {string.gsub('abc','b',nil)}
----
return {string.gsub('abc','b','x','y')}
----
return {('x'):rep(3), ('ab'):rep(2), ('x'):rep(0), ('x'):rep(-5), (''):rep(100)}
----
return {('x'):upper(), ('abc'):sub(2), ('abc'):byte(1,-1), ('abc'):len(), ('abc'):reverse()}
----
return string.rep()
----
return string.rep('x')
----
return string.rep('x',{})
----
return string.rep('x',2^32+3)
----
local t={5,2,8,1} table.sort(t) return t
----
local t={5,2,8,1} table.sort(t,function(a,b) return a>b end) return t
----
local t={1,2,3} table.insert(t,2,9) table.remove(t,1) return t
----
local t={1,2,3} table.insert(t,-1,9) return {#t,t[-1],t[0],t[1],t[2],t[3],t[4]}
----
return {table.concat({1,2,3},'-'), table.concat({1,2,3},'-',2,3), table.concat({},'-')}
----
return table.concat({1,{},3})
----
return {unpack({1,2,3},2)}
----
return {select('#',unpack({},1,3))}
----
return unpack({},1,1e8)
----
return {tonumber('10'), tonumber('0x10'), tonumber('10',2), tonumber('zz',36), tonumber(' 5 '), tonumber('5x')}
----
return {tostring(nil), tostring(true), tostring(1.5), tostring(-0), tostring(1e100)}
----
return {math.floor(1.7), math.ceil(1.2), math.max(1,5,3), math.min(4,2), math.abs(-3), math.sqrt(16), math.pow(2,10), math.fmod(7,3)}
----
return {os.clock()>=0, type(os.time), type(os.date)}
----
return {type(_VERSION), _VERSION}
----
return {collectgarbage('count')>0, collectgarbage('step'), collectgarbage('collect')}
----
return {assert(1,2), select(2,pcall(assert,false)), select(2,pcall(assert,nil,'msg')), select(2,pcall(assert))}
----
return {rawequal('a','a'), rawequal({},{}), rawget({5},1), rawset({},1,2)[1]}
----
local t={} for i=1,10 do t[i]=i end local s=0 for _,v in ipairs(t) do s=s+v end return s
----
local c=coroutine.create(function(a) local b=coroutine.yield(a+1) return b*2 end) return {coroutine.resume(c,1), select(2,coroutine.resume(c,5)), coroutine.status(c), select(2,coroutine.resume(c))}
----
local f=coroutine.wrap(function() for i=1,3 do coroutine.yield(i) end end) return {f(),f(),f(),f()}
----
local ok,e=pcall(coroutine.wrap(function() error({err='ERR inner'}) end)) return e
----
return string.format('%q','a\nb\0c\r\\"')
----
return string.format('%5s|%-5s|%05d|%x|%X|%o|%e|%g|%c|%i|%u|%%','a','b',42,255,255,8,1.5,0.1,65,7,9)
----
return string.format('%d','1.5')
----
return string.format('%s',nil)
----
return string.format('%s')
----
return string.format('%y',1)
----
return string.format('%123d',1)
----
return string.format('%.20f',0.1)
----
return string.format('%s',{} and 'x')
----
return #string.format('%s',string.rep('x',1000))
----
return {('5'+3), (10 ..''), ('0x10'+0), 7%3, -7%3, 2^0.5 > 1.41}
----
local a={} local t=a for i=1,1980 do a[1]={} a=a[1] end return #t
----
return cjson.encode({[2^40]=1})
----
return cjson.encode({[1e300]=1})
----
return cjson.encode({[2^31-1]=1})
----
return cjson.encode({[2^31]=1})
----
return cjson.encode({[math.huge]=1})
----
local t = {[2^33]=1} t[1] = 2 return cjson.encode(t)
----
return cmsgpack.unpack_one()
----
return cmsgpack.unpack_limit()
----
return cmsgpack.unpack_one(nil)
