import assert from 'node:assert/strict';
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sluice, temporary } from './testing/run-command.ts';

const WILD = 'a.example   {\n\trespond 200 # fine\n\n\n}\n';
const TIDY = 'a.example {\n  respond 200 # fine\n}\n';

test('fmt prints the formatted text and leaves the file alone', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, WILD);
  assert.deepEqual(await sluice(['fmt', '--config', path]), { code: 0, out: TIDY, err: '' });
  assert.equal(readFileSync(path, 'utf8'), WILD);
});

test('fmt --check is exit 1 and one line if the format differs, and silent if it does not', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, WILD);
  const err = `${path}: not in canonical format; run sluice fmt --config ${path} --write to format it\n`;
  assert.deepEqual(await sluice(['fmt', '--check', '--config', path]), { code: 1, out: '', err });
  writeFileSync(path, TIDY);
  assert.deepEqual(await sluice(['fmt', '--check', '--config', path]), { code: 0, out: '', err: '' });
});

test('fmt --write replaces the target of a link, keeps its mode and leaves no other file behind', async (t) => {
  const directory = temporary(t);
  const [path, link] = [join(directory, 'real'), join(directory, 'Sluicefile')];
  writeFileSync(path, WILD);
  chmodSync(path, 0o640);
  symlinkSync('real', link);
  assert.deepEqual(await sluice(['fmt', '--write', '--config', link]), { code: 0, out: '', err: '' });
  assert.equal(readFileSync(path, 'utf8'), TIDY);
  assert.equal(statSync(path).mode & 0o777, 0o640);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.deepEqual(readdirSync(directory).sort(), ['Sluicefile', 'real']);
});

test('fmt --write keeps the owner and group, so that the service user can still read the file', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('only root can give a file to another user');
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, WILD);
  chmodSync(path, 0o640);
  chownSync(path, 12_345, 23_456);
  assert.deepEqual(await sluice(['fmt', '--write', '--config', path]), { code: 0, out: '', err: '' });
  const { uid, gid, mode } = statSync(path);
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 23_456, 0o640]);
  assert.equal(readFileSync(path, 'utf8'), TIDY);
});

test('fmt rejects a file with mismatched braces, reports their positions and writes nothing', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, 'a.example {\n  respond 200\n');
  const err = `${path}:1:11: the block is never closed: add "}"\n`;
  assert.deepEqual(await sluice(['fmt', '--write', '--config', path]), { code: 1, out: '', err });
  assert.equal(readFileSync(path, 'utf8'), 'a.example {\n  respond 200\n');
});

test('fmt formats a file with unknown directives, which only validate reports', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, 'a.example { \n nonsense {$NOT_SET} }');
  assert.deepEqual(await sluice(['fmt', '--config', path]), { code: 0, out: 'a.example {\n  nonsense {$NOT_SET}\n}\n', err: '' });
});

test('fmt reads no more than validate does', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, WILD);
  truncateSync(path, 65 * 1_048_576);
  const err = `sluice fmt: ${path}: it is larger than 64 MB, so it is not a config file\n`;
  assert.deepEqual(await sluice(['fmt', '--config', path]), { code: 1, out: '', err });
});

test('fmt rejects --check together with --write', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, WILD);
  const err = 'sluice fmt: use either --check or --write, not both\n';
  assert.deepEqual(await sluice(['fmt', '--check', '--write', '--config', path]), { code: 2, out: '', err });
});

test('fmt --write reports in one line that it cannot write, and leaves no other file behind', async (t) => {
  const directory = temporary(t);
  const path = join(directory, 'Sluicefile');
  writeFileSync(path, WILD);
  // A name of this length leaves no room for the name of the temporary file.
  const long = join(directory, 'x'.repeat(250));
  writeFileSync(long, WILD);
  assert.deepEqual(await sluice(['fmt', '--write', '--config', long]), {
    code: 1,
    out: '',
    err: `sluice fmt: ${long}: it can't be written: ENAMETOOLONG\n`,
  });
  assert.equal(readFileSync(long, 'utf8'), WILD);
  assert.equal(readdirSync(directory).length, 2);
});
