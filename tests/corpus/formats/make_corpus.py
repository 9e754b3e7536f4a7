#!/usr/bin/env python3
"""Makes the seed files of the formats fuzzers (all but the JPEGs, which came
from libjpeg once: baseline, progressive, CMYK, restart markers). Needs NumPy.
Run it in this folder; it overwrites."""
import gzip, io, os, struct, zipfile, zlib
import numpy as np

def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data)

def npy(a, **kw):
    b = io.BytesIO(); np.lib.format.write_array(b, a, **kw); return b.getvalue()

a = np.arange(12).reshape(3, 4) / 7 - 1
for t in ['<f4', '>f4', '<f8', '>f8', '<f2', '|u1', '|i1', '|b1', '<i2', '>u4', '<i8']:
    put(f"npy/{t.strip('<>|')}_{'be' if t[0] == '>' else 'le'}.npy", npy(a.astype(t)))
put('npy/fortran.npy', npy(np.asfortranarray(np.arange(24.).reshape(2, 3, 4))))
put('npy/scalar.npy', npy(np.array(3.5)))
put('npy/vector.npy', npy(np.arange(5.)))
put('npy/empty.npy', npy(np.zeros((0, 3))))
put('npy/version2.npy', npy(a, version=(2, 0)))
put('npy/version3.npy', npy(a, version=(3, 0)))
put('npy/records.npy', npy(np.zeros(2, [('a', '<f4')])))
put('npy/complex.npy', npy(a.astype('c8')))
put('npy/nan.npy', npy(np.array([[1, np.nan]])))
put('npy/eight_axes.npy', npy(np.zeros((1, 2, 1, 1, 1, 1, 1, 2), 'f4')))
head = b"{\"shape\":(1L,2L),'fortran_order':False,'descr':'=f4'}"
put('npy/spelling.npy', b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head + b'\0' * 8)

def npz(compression, members, comment=b''):
    b = io.BytesIO()
    with zipfile.ZipFile(b, 'w', compression) as z:
        for name, data in members:
            z.writestr(zipfile.ZipInfo(name), data, compression)
        z.comment = comment
    return b.getvalue()

small = npy(np.arange(6, dtype='f4').reshape(2, 3))
put('npz/stored.npz', npz(0, [('a.npy', small)]))
put('npz/deflated.npz', npz(8, [('a.npy', small)]))
put('npz/two.npz', npz(8, [('a.npy', small), ('b.npy', npy(np.eye(2)))]))
put('npz/comment.npz', npz(0, [('a.npy', small)], b'a comment PK\5\6 inside'))
put('npz/other_member.npz', npz(0, [('readme.txt', b'hello'), ('a.npy', small)]))
put('npz/bzip2.npz', npz(12, [('a.npy', small)]))
put('npz/empty.npz', npz(0, []))
for f, name in [(np.savez, 'numpy.npz'), (np.savez_compressed, 'numpy_packed.npz')]:
    b = io.BytesIO(); f(b, x=np.ones((2, 2), 'f4'), y=np.arange(3)); put('npz/' + name, b.getvalue())

def idx(code, shape, data):
    return bytes([0, 0, code, len(shape)]) + b''.join(struct.pack('>I', n) for n in shape) + data
images = idx(8, (3, 4, 5), bytes(range(60)))
put('idx/images', images)
put('idx/labels', idx(8, (5,), bytes(range(5))))
put('idx/float', idx(13, (2, 2), np.arange(4, dtype='>f4').tobytes()))
put('idx/double', idx(14, (2, 2), np.arange(4, dtype='>f8').tobytes()))
put('idx/int16', idx(11, (2, 2), np.arange(4, dtype='>i2').tobytes()))
put('idx/int32', idx(12, (1, 2), np.arange(2, dtype='>i4').tobytes()))
put('idx/int8', idx(9, (2, 1, 2, 1), bytes(4)))
put('idx/none', idx(8, (0, 4, 5), b''))
put('idx/images.gz', gzip.compress(images, mtime=0))
put('idx/labels.gz', gzip.compress(idx(8, (5,), bytes(range(5))), mtime=0))
put('idx/bomb.gz', gzip.compress(idx(8, (4096, 4, 4), bytes(65536)), mtime=0))
put('idx/cifar', bytes([3]) + bytes(i % 251 for i in range(3072)))

for name, text in dict(plain='1,2.5\n-3,4e1\n', semicolon='1;2\n3;4', tabs='1\t2\r\n3\t4\r\n',
        spaces=' 1   2 \n 3 4\n', header='a,b\n1,2\n', bom='\ufeffx,y\n1,2\n', ragged='1,2\n3\n',
        nan='1,nan\n', inf='inf;-Infinity\n', hex='1,0x10\n', quoted='"1","2"\n3,4\n', empty='1,,2\n',
        long='1' + '0' * 60 + ',2\n', small='1e-45,1e-50,-0.0\n', big='1e39\n', column='1\n2\n3\n').items():
    put(f'csv/{name}.csv', text.encode())

def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(w, h, bits, colour, rows, extra=b'', interlace=0):
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, bits, colour, 0, 0, interlace))
            + extra + chunk(b'IDAT', zlib.compress(b''.join(b'\0' + r for r in rows))) + chunk(b'IEND', b''))
palette = chunk(b'PLTE', bytes([0, 0, 0, 255, 0, 0, 0, 255, 0, 9, 9, 9]))
put('image/grey8.png', png(3, 2, 8, 0, [b'abc', b'def']))
put('image/grey1.png', png(9, 2, 1, 0, [b'\xAA\x80', b'\x55\0']))
put('image/grey16.png', png(2, 1, 16, 0, [b'abcd']))
put('image/rgb8.png', png(2, 2, 8, 2, [b'abcdef', b'ghijkl']))
put('image/rgb16.png', png(1, 1, 16, 2, [b'abcdef']))
put('image/palette2.png', png(4, 1, 2, 3, [b'\x1B'], palette))
put('image/palette_alpha.png', png(4, 1, 2, 3, [b'\x1B'], palette + chunk(b'tRNS', b'\0\x80')))
put('image/grey_alpha.png', png(2, 1, 8, 4, [b'a\x80b\xff']))
put('image/rgba.png', png(1, 2, 8, 6, [b'abc\x80', b'def\0']))
put('image/interlaced.png', png(1, 1, 8, 0, [b'a'], interlace=1))
put('image/grey_trns.png', png(2, 1, 8, 0, [b'ab'], chunk(b'tRNS', b'\0a')))
put('image/text.png', png(1, 1, 8, 0, [b'a'], chunk(b'tEXt', b'k\0v') + chunk(b'gAMA', struct.pack('>I', 45455))))
for name, data in dict(p2=b'P2 2 2 9 # x\n1 2 3 4\n', p3=b'P3 1 1 255 1 2 3', p5=b'P5 2 1 255 ab',
        p6=b'P6\n1 2\n255\nabcdef', p5_16=b'P5 1 2 1000 \0\1\3\xe8', p4=b'P4 8 1 a', p7=b'P7\nWIDTH 1\n').items():
    put(f'image/{name}.pnm', data)
