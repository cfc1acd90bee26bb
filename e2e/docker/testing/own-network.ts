import { missing } from '../../components.ts';
import { separateNetwork } from '../../testing/separate-network.ts';

/** A network and mounts for the engine of these tests, as `separateNetwork`. */
export const ownNetwork = (): string | undefined => separateNetwork(missing('dockerd') ?? missing('busybox'));
