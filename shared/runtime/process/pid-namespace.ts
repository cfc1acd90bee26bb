import { readlinkSync } from 'node:fs';

/**
 * The pid namespace of this process (pid_namespaces(7)). Two containers may share a network, a host name and every volume, but not this.
 * null on systems without namespaces.
 */
export function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
