import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { readSingleDirective } from '../file/single-directive.ts';
import { sourceContract } from '../testing/source-contract.ts';
import { createKubernetesSource } from './source.ts';
import { FakeApiServer } from './testing/fake-api-server.ts';
import { INGRESSES_PATH, putSite } from './testing/fake-objects.ts';

sourceContract('kubernetes', async (t, clock) => {
  const server = new FakeApiServer();
  await server.start();
  t.after(() => server[Symbol.asyncDispose]());
  const settings = { kubeconfig: server.kubeconfig, ingressClass: 'sluice', namespaces: null, publish: null, portMap: new Map() };
  const source = createKubernetesSource({ settings, clock, random: systemRandom, log: memoryLog(), readDirective: readSingleDirective });
  const known = new Set<string>();
  let number = 0;
  const put = (domain: string, annotations = {}) => {
    number += 1;
    known.add(domain);
    putSite(server, domain, domain, `10.0.0.${number}`, { annotations });
  };
  return {
    source,
    set: (...domains) => {
      for (const domain of known)
        if (!domains.includes(domain)) {
          server.delete(INGRESSES_PATH, `default/${domain}`);
          known.delete(domain);
        }
      for (const domain of domains) if (!known.has(domain)) put(domain);
    },
    addMistaken: (domain) => put(domain, { 'sluice.dev/rate_limit': 'many' }),
    fail: () => server.stop(),
    recover: () => server.start(),
  };
});
