import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import { translate } from '../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import { TLS_SECRETS, type TlsSecret } from './secret.ts';

const [first, second] = await Promise.all([makePair(['a.test']), makePair(['a.test'])]);
const encoded = (text: string) => Buffer.from(text).toString('base64');

const secretOf = (certificate: string, privateKey: string, uid = 'one'): TlsSecret =>
  TLS_SECRETS.read({
    metadata: { namespace: 'shop', name: 'pair', uid, creationTimestamp: '2026-01-01T00:00:00Z' },
    data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) },
  } as never);

/** What is kept after these versions. */
const after = ([oldest, ...versions]: readonly [TlsSecret, ...TlsSecret[]]): TlsSecret =>
  versions.reduce((before, now) => TLS_SECRETS.changed?.(before, now) ?? now, oldest);

const [VALID, NEXT] = [secretOf(first.certificate, first.privateKey), secretOf(second.certificate, second.privateKey)];
const HALF = secretOf(second.certificate, first.privateKey);

function served(secret: TlsSecret, ...objects: readonly SampleObject[]) {
  const { service, slice } = serviceOf('shop/app', '10.0.0.1');
  const listener = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'a.test', tls: { certificateRefs: [{ name: 'pair' }] } };
  const cluster = clusterOf({
    services: [service],
    slices: [slice],
    ingresses: objects,
    ...(objects.length === 0 && {
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [{ name: 'shop/g', spec: { gatewayClassName: 'sluice', listeners: [listener] } }],
    }),
  });
  const { routes, certificates, problems } = translate({ ...cluster, secrets: new Map([['shop/pair', secret]]) });
  const presented = certificates.map(({ certificate }) =>
    [first, second].findIndex((one) => one.certificate.trim() === certificate.trim()),
  );
  return { presented, https: routes.map(({ https }) => https), problems: problems.map(({ message }) => message).join() };
}

const { spec, ...rest } = ingressOf('shop/web', 'a.test', 'app') as SampleObject & { readonly spec: object };
const INGRESS: SampleObject = { ...rest, spec: { ...spec, tls: [{ secretName: 'pair' }] } };
const BOTH: readonly (readonly SampleObject[])[] = [[INGRESS], []];

test('a Secret that becomes invalid is presented as it was before, until it is valid again, and a problem says so', () => {
  for (const objects of BOTH) {
    for (const versions of [
      [VALID, HALF],
      [VALID, HALF, secretOf('', '')],
      [VALID, HALF, HALF],
    ] as const) {
      const { presented, https, problems } = served(after(versions), ...objects);
      assert.deepEqual([presented, https], [[0], ['provided']]);
      assert.match(problems, /the key does not belong|no certificate|no private key/);
      assert.match(problems, /its last valid version is presented until that is corrected/);
    }
    const corrected = served(after([VALID, HALF, NEXT]), ...objects);
    assert.deepEqual(corrected, { presented: [1], https: ['provided'], problems: '' });
  }
});

test('a Secret that never was valid, or was deleted and created again, has no earlier version', () => {
  for (const objects of BOTH) {
    assert.deepEqual(served(after([HALF]), ...objects).presented, []);
    assert.deepEqual(served(after([VALID, secretOf(second.certificate, first.privateKey, 'two')]), ...objects).presented, []);
  }
});

test('what is wrong with a Secret is told if its earlier version is for another host', async () => {
  const other = await makePair(['b.test']);
  const { presented, problems } = served(after([secretOf(other.certificate, other.privateKey), HALF]), INGRESS);
  assert.deepEqual(presented, []);
  assert.match(problems, /the key does not belong/);
});

test('an unchanged Secret stays equal, with or without an earlier version', () => {
  for (const versions of [
    [VALID, secretOf(first.certificate, first.privateKey)],
    [VALID, HALF, secretOf(second.certificate, first.privateKey)],
  ] as const)
    assert.deepEqual(after(versions), after(versions.slice(0, -1) as [TlsSecret]));
});

test('of the certificates of a listener, a valid one is presented rather than the earlier version of another', () => {
  const { service, slice } = serviceOf('shop/app', '10.0.0.1');
  const tls = { certificateRefs: [{ name: 'pair' }, { name: 'second' }] };
  const { certificates } = translate({
    ...clusterOf({
      services: [service],
      slices: [slice],
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [
        {
          name: 'shop/g',
          spec: { gatewayClassName: 'sluice', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443, hostname: 'a.test', tls }] },
        },
      ],
    }),
    secrets: new Map([
      ['shop/pair', after([VALID, secretOf('', '')])],
      ['shop/second', NEXT],
    ]),
  });
  assert.deepEqual(
    certificates.map(({ certificate }) => certificate.trim()),
    [second.certificate.trim()],
  );
});
