/** Sets TXT records in a zone. One name may have several values: a base name and its wildcard share it. */
export interface DnsProvider {
  /** Adds a TXT record. Resolves when the primary server has it, before it has propagated. @throws IssueError. */
  add(name: string, value: string): Promise<void>;
  /** Removes this value only. Succeeds if it does not exist. @throws IssueError. */
  remove(name: string, value: string): Promise<void>;
}
