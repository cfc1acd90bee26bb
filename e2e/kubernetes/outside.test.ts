import { shareCluster } from './testing/shared-cluster.ts';

// Both processes run outside the cluster that they serve. Only the last file defines the Gateway API: the others test a cluster without it.
shareCluster(['status', 'routes', 'outages', 'gateways'].map((name) => new URL(`outside/${name}.ts`, import.meta.url)));
