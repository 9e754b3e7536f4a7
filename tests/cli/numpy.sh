# Files made by NumPy are read, files of ours are read by NumPy.

PYTHON=$(numpy)
if [ -z "$PYTHON" ]; then
    skip "no Python with NumPy here"
else
    cat >make.py <<'PY'
import numpy as np
rng = np.random.default_rng(1)
x = rng.uniform(-1, 1, (6, 12)).astype('f4')
np.save('f4.npy', x)
np.save('f8.npy', x.astype('f8'))
np.save('big.npy', x.astype('>f4'))
np.save('big8.npy', x.astype('>f8'))
np.save('fortran.npy', np.asfortranarray(x))
np.savez('a.npz', x=x)
np.savez_compressed('z.npz', x=x)
np.savetxt('x.csv', x, delimiter=',')
x.tofile('x.f32')
b = rng.integers(0, 256, (3, 4, 4, 3), dtype='u1')
np.save('last.npy', b)
np.save('first.npy', np.ascontiguousarray(b.transpose(0, 3, 1, 2)))
np.savez('fields.npz', image=rng.uniform(-1, 1, (4, 4, 4)), label=np.array([[0.], [2.], [1.], [2.]]), other=np.zeros(3))
PY
    "$PYTHON" make.py
    bpcn create m.mem --dim 12 --hidden 48,48 -q
    bpcn write m.mem f4.npy -q
    for file in f4.npy f8.npy big.npy big8.npy fortran.npy a.npz z.npz x.csv x.f32; do
        law "rows from $file are the rows that were written" contains "$(bpcn score m.mem $file)" "6 rows, 6 known"
    done
    bpcn read m.mem f4.npy --hide random:0.25 -o out.npy -q
    bpcn read m.mem f4.npy --hide random:0.25 -o out.npz -q
    bpcn read m.mem f4.npy --hide random:0.25 -o out.csv -q
    bpcn read m.mem f4.npy --hide random:0.25 -o out.f32 -q
    bpcn export m.mem par.npz -q
    cat >check.py <<'PY'
import numpy as np, sys
x = np.load('f4.npy'); a = np.load('out.npy'); z = np.load('out.npz')
ok = {
    '.npy': a.dtype == np.float32 and a.shape == (6, 12) and ((a - x) ** 2).mean() < 0.01,
    '.npz': (z['answer'] == a).all() and (z['truth'] == x).all() and z['known'].shape == (6, 12)
            and z['familiarity'].min() > 0.5 and (z['query'][z['known'] == 1] == x[z['known'] == 1]).all(),
    '.csv': np.abs(np.loadtxt('out.csv', delimiter=',').astype('f4') - a).max() == 0,
    '.f32': (np.fromfile('out.f32', '<f4').reshape(6, 12) == a).all(),
}
p = np.load('par.npz')
ok['export'] = (p['mean0'].shape == (1, 48, 12) and p['cov1'].shape == (1, 48, 48) and p['hidden'].tolist() == [48, 48]
                and int(p['dim']) == 12 and bytes(p['fields']).decode() == 'row:12'
                and np.linalg.eigvalsh(p['cov0'][0]).min() > 0)
bad = [k for k, v in ok.items() if not v]
print(bad); sys.exit(bool(bad))
PY
    law "NumPy reads our .npy, .npz, .csv, .f32 and exports" "$PYTHON" check.py
    "$PYTHON" -c "
import numpy as np
p = dict(np.load('par.npz')); np.savez('again.npz', **p)"
    bpcn import again.mem again.npz -q
    law "parameters that went through NumPy still recall" contains "$(bpcn score again.mem f4.npy)" "6 rows, 6 known"
    "$PYTHON" -c "
import numpy as np
p = dict(np.load('par.npz')); p['cov0'] = -p['cov0']; np.savez('bad.npz', **p)"
    law "parameters that make no sense are refused" says 1 "bad.npz: layer 0 of particle 0: " bpcn import bad.mem bad.npz
    bpcn create i.mem --image 4x4x3 --hidden 16 -q
    bpcn write i.mem last.npy --pixels --channels-last -q
    law "--channels-last turns pictures round" contains "$(bpcn score i.mem first.npy --pixels)" "3 rows, 3 known"
    bpcn create f.mem --fields image:4x4,label:3 --hidden 32 -q
    law "an .npz with the fields' names fills them" contains "$(bpcn write f.mem fields.npz)" "4 rows written"
    law "and its labels come back" contains "$(bpcn read f.mem fields.npz --known image)" "4 of 4 labels right"
fi
