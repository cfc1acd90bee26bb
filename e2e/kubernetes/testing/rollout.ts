import { until } from '../../../shared/runtime/testing/until.ts';
import type { Cluster } from './cluster.ts';
import { WatchedObjects } from './watched-objects.ts';

type Pod = { readonly metadata: { readonly name: string; readonly namespace: string; readonly deletionTimestamp?: string } };
type Deployment = {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly generation: number };
  readonly spec: { readonly replicas: number };
  readonly status: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
};

const PATIENCE_MS = 240_000;
const pathOf = (namespace: string, name: string): string => `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;

/** Waits until the pods of a Deployment are its newest ones, all ready, and no others are left. */
export async function rolledOut(cluster: Cluster, namespace: string, name: string): Promise<void> {
  await using deployments = await WatchedObjects.start<Deployment>(cluster, `/apis/apps/v1/namespaces/${namespace}/deployments`);
  await until(
    `the pods of ${name} to be its newest, and ready`,
    () => {
      const deployment = deployments.get(namespace, name);
      if (deployment === undefined) return false;
      const { metadata, spec, status } = deployment;
      const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
      return (
        observedGeneration >= metadata.generation && [replicas, updatedReplicas, availableReplicas].every((one) => one === spec.replicas)
      );
    },
    PATIENCE_MS,
  );
  await using pods = await WatchedObjects.start<Pod>(cluster, `/api/v1/namespaces/${namespace}/pods`);
  await until(
    `the old pods of ${name} to have ended`,
    () => [...pods.values()].every(({ metadata }) => metadata.deletionTimestamp === undefined),
    PATIENCE_MS,
  );
}

/** Replaces the pods of a Deployment, as `kubectl rollout restart` does. */
export async function restart(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
  await change(cluster, namespace, name, { template: { metadata: { annotations } } });
}

export async function scale(cluster: Cluster, namespace: string, name: string, replicas: number): Promise<void> {
  await change(cluster, namespace, name, { replicas });
}

async function change(cluster: Cluster, namespace: string, name: string, spec: object): Promise<void> {
  await cluster.api('PATCH', pathOf(namespace, name), { spec }, 'application/merge-patch+json');
}
