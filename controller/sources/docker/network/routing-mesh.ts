import type { ContainerNetwork } from '../engine/container.ts';

/** Longer ids are those of an engine's own networks, one of which may have the same name. */
const SWARM_ID = 25;

/**
 * Whether this is the network of Swarm's routing mesh, which every container with a published port is on. It only carries what arrives at
 * published ports and the responses to that: whatever else a container sends there, as a data plane would, is dropped.
 */
export const isRoutingMesh = ({ name, id }: Pick<ContainerNetwork, 'name' | 'id'>): boolean => name === 'ingress' && id.length === SWARM_ID;
