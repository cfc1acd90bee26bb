import { clientNetwork } from './client-network.ts';
import { type Key, keyOf } from './hash.ts';

/** The maximum number of client addresses whose hashes are cached, which is far more than a worker has connections. */
const KNOWN_CLIENTS = 16_384;

/** The key of a client in the ledger: of its address, or of its /64 for IPv6. */
export const clientKey = cached((address) => keyOf(clientNetwork(address)));

/** Keys that depend on an address only are hashed once. */
export function cached(keyFor: (address: string) => Key): (address: string) => Key {
  const clients = new Map<string, Key>();
  return (address) => {
    const known = clients.get(address);
    if (known !== undefined) return known;
    if (clients.size >= KNOWN_CLIENTS) clients.clear();
    const key = keyFor(address);
    clients.set(address, key);
    return key;
  };
}
