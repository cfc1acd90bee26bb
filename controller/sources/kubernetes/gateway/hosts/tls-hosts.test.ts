import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, type SampleObject } from '../../testing/cluster-snapshot.ts';

const tls = (hostname: string) => ({ name: hostname, protocol: 'TLS', port: 443, hostname, tls: { mode: 'Passthrough' } });
const https = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'b.test', tls: { certificateRefs: [{ name: 'absent' }] } };
const gateway = (name: string, ...listeners: object[]): SampleObject => ({ name, spec: { gatewayClassName: 'sluice', listeners } });

function passthroughOf(domain: string, ...gateways: readonly SampleObject[]) {
  const { routes } = translate(
    clusterOf({ gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }], gateways }),
  );
  return routes.find((route) => route.domain === domain)?.tls_passthrough;
}

test('where listeners only pass connections on, those for other names are closed, like those for a host without a route', () => {
  const closed = [{ ports: [443], upstreams: [], idle_timeout_secs: 3600 }];
  assert.deepEqual(passthroughOf('a.test', gateway('n/a', tls('a.test'))), closed);
  assert.deepEqual(passthroughOf('*', gateway('n/a', tls('a.test'))), closed);
});

test('an HTTPS listener that can’t be served ends no TLS, so it changes nothing for names that no listener has', () => {
  assert.deepEqual(passthroughOf('*', gateway('n/a', tls('a.test'), https)), [{ ports: [443], upstreams: [], idle_timeout_secs: 3600 }]);
});
