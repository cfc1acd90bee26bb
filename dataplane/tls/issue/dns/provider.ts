/** A way to set records of a zone. Several values may stand under one name: a base name and its wildcard share it. */
export interface DnsProvider {
  /** Adds a TXT record. Ends when the one who keeps the zone has it, not yet when it is public. @throws IssueError. */
  add(name: string, value: string): Promise<void>;
  /** Removes this value and leaves others. One that is not there is as good as removed. @throws IssueError. */
  remove(name: string, value: string): Promise<void>;
}
