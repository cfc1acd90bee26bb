import { until } from '../../harness/until.ts';
import type { Cluster } from './cluster.ts';

type Pods = { readonly items: readonly { readonly metadata: { readonly deletionTimestamp?: string } }[] };

/** Waits until the pods of a Deployment are its newest ones, all ready, and no others are left. */
export async function rolledOut(cluster: Cluster, namespace: string, name: string): Promise<void> {
  await cluster.kubectl(['-n', namespace, 'rollout', 'status', `deployment/${name}`, '--timeout=240s']);
  await until(
    `the old pods of ${name} to have ended`,
    async () => {
      const { items } = await cluster.api<Pods>('GET', `/api/v1/namespaces/${namespace}/pods`);
      return items.every(({ metadata }) => metadata.deletionTimestamp === undefined);
    },
    180_000,
  );
}
