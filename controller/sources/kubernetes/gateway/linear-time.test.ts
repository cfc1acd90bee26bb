import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { translate } from '../routes/translate.ts';
import { clusterOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';

const PORTS = 16;
const PARENT = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' };
const app = serviceOf('n/app', '10.0.0.1');

type Objects = Pick<
  Parameters<typeof clusterOf>[0],
  'ingresses' | 'gateways' | 'listenerSets' | 'httpRoutes' | 'tlsRoutes' | 'backendTlsPolicies' | 'authorities'
>;

/** The processor time of a translation that follows another one of the same objects, or of other targets, so many times (µs); the least of several. */
function costOf(objects: Objects, hasOtherTargets = false, times = 1): number {
  const listeners = Array.from({ length: PORTS }, (_, at) => ({ name: `l${at}`, protocol: 'HTTP', port: 8_000 + at }));
  const snapshot = clusterOf({
    gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
    ...{ gateways: [{ name: 'n/g', spec: { gatewayClassName: 'sluice', listeners } }], services: [app.service], slices: [app.slice] },
    ...objects,
  });
  translate(snapshot);
  const costs = Array.from({ length: 3 }, (_, at) => {
    const other = clusterOf({ slices: [serviceOf('n/app', `10.0.1.${at}`).slice] });
    const next = hasOtherTargets ? { ...snapshot, slices: other.slices } : snapshot;
    const before = process.cpuUsage();
    for (let time = 0; time < times; time++) translate(next);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  });
  return Math.min(...costs);
}

const route = (name: string, paths: number, more: object, backends = 1): SampleObject => ({
  name: `n/${name}`,
  spec: {
    ...more,
    rules: Array.from({ length: paths }, (_, at) => ({
      matches: [{ path: { type: 'PathPrefix', value: `/${name}/${at}` } }],
      backendRefs: Array.from({ length: backends }, () => ({ name: 'app', port: 80 })),
    })),
  },
});

/** In linear time four times as much takes four times as long, in quadratic time sixteen times. */
function isLinear(few: number, many: number): void {
  assert.ok(many < 8 * few, `${few} and ${many} µs`);
}

test('the rules of a host on many ports are put into one order in linear time', () => {
  const cost = (count: number) =>
    costOf({
      httpRoutes: Array.from({ length: count }, (_, at) => {
        const parentRefs = [{ ...PARENT, sectionName: `l${at % PORTS}` }];
        return route(`r${at}`, 128, { parentRefs, hostnames: ['a.test'] });
      }),
    });
  isLinear(cost(24), cost(96));
});

test('the Gateways that policies of backends concern are found in linear time', () => {
  const cost = (count: number) =>
    costOf(
      {
        httpRoutes: Array.from({ length: count }, (_, at) =>
          route(`r${at}`, 1, { parentRefs: [{ ...PARENT, sectionName: 'l0' }], hostnames: ['a.test'] }, 4),
        ),
        backendTlsPolicies: Array.from({ length: 4 * count }, (_, at) => ({
          name: `n/p${at}`,
          spec: {
            targetRefs: [{ group: '', kind: 'Service', name: `s${at}` }],
            validation: { hostname: 'x.test', wellKnownCACertificates: 'System' },
          },
        })),
      },
      false,
      // Some systems count processor time in ticks of milliseconds.
      20,
    );
  isLinear(cost(100), cost(400));
});

test('the authorities of a backend are read once, however many rules and hosts use it', async () => {
  const { certificate } = await makePair(['ca'], { authority: true });
  const hostnames = Array.from({ length: 16 }, (_, at) => `h${at}.test`);
  const cost = (certificates: number) =>
    costOf(
      {
        httpRoutes: [route('r', 16, { parentRefs: [{ ...PARENT, sectionName: 'l0' }], hostnames })],
        authorities: [{ name: 'n/ca', data: { 'ca.crt': certificate.repeat(certificates) } }],
        backendTlsPolicies: [
          {
            name: 'n/p',
            spec: {
              targetRefs: [{ group: '', kind: 'Service', name: 'app' }],
              validation: { hostname: 'x.test', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] },
            },
          },
        ],
      },
      true,
    );
  const [few, many] = [cost(1), cost(100)];
  assert.ok(many < 25 * few, `${few} and ${many} µs`);
});

test('many hosts that have one route in common on another port, as a redirect to HTTPS, are not compared with each other', () => {
  const own = Array.from({ length: 3_000 }, (_, at) =>
    route(`r${at}`, 1, { parentRefs: [{ ...PARENT, sectionName: 'l1' }], hostnames: [`h${at}.test`] }),
  );
  const common = (more: object) => route('common', 1, { ...more, parentRefs: [{ ...PARENT, sectionName: 'l0' }] });
  const [alone, together] = [{ hostnames: ['a.test'] }, {}].map((more) => costOf({ httpRoutes: [common(more), ...own] }));
  // It is about as much work, and was more than twice as much.
  assert.ok(Number(together) < 2 * Number(alone), `${alone} and ${together} µs`);
});

test('the listeners of ListenerSets are compared in linear time', () => {
  // They are of no use, so that comparing them is most of the work.
  const all = { namespaces: { from: 'All' } };
  const cost = (count: number) =>
    costOf({
      gateways: [{ name: 'n/g', spec: { gatewayClassName: 'sluice', allowedListeners: all } }],
      listenerSets: Array.from({ length: count }, (_, set) => ({
        name: `n/s${set}`,
        spec: {
          parentRef: { name: 'g' },
          listeners: Array.from({ length: 32 }, (_, at) => ({
            name: `l${at}`,
            protocol: 'UDP',
            port: 80,
            hostname: `h${set}-${at}.test`,
          })),
        },
      })),
    });
  isLinear(cost(256), cost(1_024));
});

test('Gateways that pass the connections of a host on are compared in linear time', () => {
  const listener = (at: number) => ({ name: 'l', protocol: 'TLS', port: 443, hostname: `h${at}.test`, tls: { mode: 'Passthrough' } });
  const cost = (count: number) => {
    const each = Array.from({ length: count }, (_, at) => at);
    return costOf({
      gateways: each.map((at) => ({ name: `n/g${at}`, spec: { gatewayClassName: 'sluice', listeners: [listener(at)] } })),
      tlsRoutes: each.map((at) => ({
        name: `n/r${at}`,
        spec: { parentRefs: [{ ...PARENT, name: `g${at}` }], hostnames: [`h${at}.test`], rules: [{ backendRefs: [] }] },
      })),
    });
  };
  isLinear(cost(250), cost(1_000));
});

test('the Ingresses that share a host are listed in linear time', () => {
  const cost = (count: number) =>
    costOf({
      ingresses: Array.from({ length: count }, (_, at) => {
        const paths = [{ path: `/${at}`, pathType: 'Prefix', backend: { service: { name: 'app', port: { number: 80 } } } }];
        return { name: `n/i${at}`, spec: { ingressClassName: 'sluice', rules: [{ host: 'a.test', http: { paths } }] } };
      }),
    });
  isLinear(cost(1_000), cost(4_000));
});
