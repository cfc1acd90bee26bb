import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applySchema } from '../../../shared/wire/apply.ts';
import { RejectedCertificates } from './rejected-certificates.ts';

const header = (based_on: number | null) => applySchema.parse({ controller: 'one', epoch: 1, revision: 2, based_on, sources: ['file'] });
const domains = ['b.test', 'a.test'];

test('a rejected certificate that its controller removes is no longer warned about', () => {
  const rejected = new RejectedCertificates();
  rejected.record({ header: header(null) }, [{ domains, result: 'rejected', reason: 'the disk is full' }]);
  assert.deepEqual(rejected.warnings(), ['the certificate for a.test, b.test that controller "one" sent is not used: the disk is full']);
  const removed = [{ domains: domains.toReversed(), source: 'file' }];
  rejected.record({ header: header(1), certificates: { accepted: [], rejected: [], removed } }, []);
  assert.deepEqual(rejected.warnings(), []);
});
