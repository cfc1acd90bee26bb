import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { FrameCertificates } from '../../../shared/wire/apply.ts';
import { ApplyFrameReader } from './frame-reader.ts';

const { certificate, privateKey } = await makePair(['a.test', '*.a.test']);
const other = await makePair(['b.test']);
const line = (more: object) => ({ certificate: { domains: ['a.test'], certificate, private_key: privateKey, source: 'file', ...more } });

/** The certificates in a frame that consists of these lines. */
function read(based_on: number | null, ...lines: object[]): FrameCertificates | undefined {
  const reader = new ApplyFrameReader();
  const apply = { controller: 'c', epoch: 1, revision: 2, based_on, sources: ['file'] };
  for (const one of [{ apply }, ...lines]) assert.equal(reader.addLine(JSON.stringify(one)), null);
  return reader.addLine(JSON.stringify({ end: { revision: 2 } }))?.certificates;
}

test('a certificate is read with its chain and its domains, lowercased and without duplicates', () => {
  const accepted = read(null, line({ domains: ['WWW.a.test', 'a.test', 'a.test'] }))?.accepted;
  assert.deepEqual(
    accepted?.map(({ domains, source, pair }) => [domains, source, pair.chain]),
    [[['www.a.test', 'a.test'], 'file', certificate]],
  );
});

test('an unusable certificate is rejected alone, and the reason reveals nothing of the key', () => {
  const rejected = read(
    null,
    line({ domains: ['b.test'] }),
    line({ private_key: other.privateKey }),
    line({ certificate: 'words' }),
    line({ source: 'mine' }),
    line({}),
  )?.rejected.map(({ reason }) => reason);
  assert.equal(rejected?.length, 4);
  assert.match(rejected?.[0] ?? '', /^certificate: it does not cover b\.test, only a\.test, \*\.a\.test$/);
  assert.match(rejected?.[1] ?? '', /^private_key: the key does not belong to the certificate/);
  assert.match(rejected?.[2] ?? '', /^certificate: it contains no certificate/);
  assert.match(rejected?.[3] ?? '', /^its source "mine" is not one of the frame's$/);
});

test('a certificate without a source makes the frame malformed, and so does a removal by name in a full frame', () => {
  for (const wrong of [
    line({ domains: [] }),
    line({ domains: ['no domain'] }),
    line({ private_key: undefined }),
    line({ domains: 'a.test' }),
  ])
    assert.throws(() => read(null, wrong), /certificate: (domains|private_key)/);
  const removal = { remove_certificate: { domains: ['a.test'], source: 'file' } };
  assert.throws(() => read(null, removal), /a full frame removes what it does not name/);
  assert.deepEqual(read(1, removal)?.removed, [{ domains: ['a.test'], source: 'file' }]);
});
