/** In a file of its own, so that a bundle of it has only what it uses of the library, and only processes that watch a cluster load it. */
export { KubeConfig } from '@kubernetes/client-node';
