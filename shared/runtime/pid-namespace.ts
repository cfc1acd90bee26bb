import { readlinkSync } from 'node:fs';

/**
 * The namespace that this process's number belongs to (pid_namespaces(7)): two containers may share a network, a host name and every
 * volume, and never this. Null where the system has none.
 */
export function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
