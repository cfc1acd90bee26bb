import { readlinkSync } from 'node:fs';

/**
 * The pid namespace of this process (pid_namespaces(7)). Two containers may share a network, a host name and every volume, but not this.
 * null on systems without namespaces.
 */
export const pidNamespace = (): string | null => namespaceOf('pid');

/** The network namespace of this process (network_namespaces(7)), to which its sockets belong. null on systems without namespaces. */
export const networkNamespace = (): string | null => namespaceOf('net');

function namespaceOf(kind: 'pid' | 'net'): string | null {
  try {
    return readlinkSync(`/proc/self/ns/${kind}`);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
