import { shareCluster } from './testing/shared-cluster.ts';

/**
 * Sluice runs in pods of the cluster. The chart is first, since it can't be installed where the manifests are, and leaves nothing behind. The
 * guide finds its manifests applied by the tests of these, replaces them by the chart, and leaves its sidecar to the tests of that.
 */
shareCluster(['chart', 'gateway-deployment', 'guide', 'sidecar'].map((name) => new URL(`inside/${name}.ts`, import.meta.url)));
