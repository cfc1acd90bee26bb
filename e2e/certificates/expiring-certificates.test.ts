import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';

const DAY = 86_400_000;

test('an expiring certificate without automatic renewal appears in the status, and its expiry in the metrics', async () => {
  using folder = new Folder();
  const flags = ['--cert-dir', folder.file('certs'), '--https-port', `${await freePort()}`];
  const notAfter = Math.floor((Date.now() + DAY) / 1_000) * 1_000;
  for (const name of ['shop.test', 'unrouted.test']) {
    const pair = await makePair([name], { notBefore: notAfter - 90 * DAY, notAfter });
    mkdirSync(folder.file(`certs/${name}`), { recursive: true });
    writeFileSync(folder.file(`certs/${name}/cert.pem`), pair.certificate);
    writeFileSync(folder.file(`certs/${name}/key.pem`), pair.privateKey);
  }
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), flags });
  await dataplane.route('shop.test', '127.0.0.1:9');
  const text = async (path: string) => (await dataplane.admin('GET', path)).text;
  const { warnings } = JSON.parse(await text('/status')) as { warnings: string[] };
  const line = `the certificate of shop.test expires at ${new Date(notAfter).toISOString()}; it was provided manually (file): provide a newer one`;
  assert.deepEqual(
    warnings.filter((warning) => warning.includes('certificate')),
    [line],
  );
  const metrics = await text('/metrics');
  assert.ok(metrics.includes('\nsluice_certificates{source="file"} 2\n'));
  assert.ok(metrics.includes('\nsluice_certificates_expiring 1\n'));
  assert.ok(metrics.includes(`\nsluice_certificate_not_after_timestamp_seconds{domain="shop.test"} ${notAfter / 1_000}\n`));
});
