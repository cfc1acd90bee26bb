/**
 * The process that answers at each address of a data plane. A data plane has one stream of each controller, so that those of two addresses of
 * one data plane would end each other for ever. Only the first one is used.
 */
export class Reached {
  private readonly instances: Map<string, string | null>;

  constructor(addresses: readonly string[]) {
    this.instances = new Map(addresses.map((address) => [address, null]));
  }

  /** A data plane has acknowledged a frame, or said which one it is. `instance` identifies its process. */
  at(address: string, instance: string): void {
    this.instances.set(address, instance);
  }

  /** Nothing answers there, or what does acknowledges no frame. */
  lost(address: string): void {
    this.instances.set(address, null);
  }

  /** The first address of the data plane that answered at this one, if that is another one. */
  earlier(address: string): string | null {
    const instance = this.instances.get(address) ?? null;
    if (instance === null) return null;
    const [first] = [...this.instances].find(([, one]) => one === instance) ?? [address];
    return first === address ? null : first;
  }
}
