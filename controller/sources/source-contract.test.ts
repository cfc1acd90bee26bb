import { readRoute } from '../../shared/route.ts';
import type { Reading, Snapshot, Source } from './source.ts';
import { sourceContract } from './testing/source-contract.ts';

/** A source of objects in memory, like a cluster: all are listed after each change, each with its own conditions. */
class MemorySource implements Source {
  readonly name = 'memory';
  readonly objects = new Map<string, 'good' | 'mistaken'>();
  isUp = true;
  private emit: ((snapshot: Snapshot) => void) | undefined;
  private seen: readonly Reading[] = [];

  run(signal: AbortSignal, emit: (snapshot: Snapshot) => void): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      this.emit = emit;
      queueMicrotask(() => this.relist());
      const stop = () => {
        this.emit = undefined;
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  relist(): void {
    if (!this.emit) return;
    if (!this.isUp) return this.emit({ kind: 'failed', source: this.name, errors: ['the cluster does not answer'] });
    this.seen = [...this.objects].map(([domain, state]) => this.readingOf(domain, state === 'good'));
    const routes = this.seen.flatMap(({ accepted, name, origin }) => {
      const read = readRoute({ domain: name, upstream: '127.0.0.1:9000', tls: false, source: this.name, origin });
      return accepted.holds && 'route' in read ? [read.route] : [];
    });
    this.emit({ kind: 'listed', source: this.name, routes, problems: [] });
  }

  readings(): readonly Reading[] {
    return this.seen;
  }

  private readingOf(domain: string, isGood: boolean): Reading {
    const known = this.seen.find(({ id }) => id === domain);
    if (known?.accepted.holds === isGood) return known;
    const since = new Date().toISOString();
    return {
      source: this.name,
      kind: 'ingress',
      id: domain,
      name: domain,
      origin: `ingress ${domain}`,
      section: null,
      domains: [domain],
      peers: { count: 0, names: [] },
      accepted: { holds: isGood, reason: isGood ? 'understood' : 'its backend has no port', since },
      resolved: { holds: isGood, reason: isGood ? 'its service has endpoints' : 'not understood', since },
      address: null,
      change: isGood ? null : 'name a port of the service',
    };
  }
}

sourceContract('memory', () => {
  const source = new MemorySource();
  const changed = (change: () => void) => {
    change();
    source.relist();
  };
  return {
    source,
    set: (...domains) =>
      changed(() => {
        source.objects.clear();
        for (const domain of domains) source.objects.set(domain, 'good');
      }),
    addMistaken: (domain) => changed(() => source.objects.set(domain, 'mistaken')),
    fail: () =>
      changed(() => {
        source.isUp = false;
      }),
    recover: () => {
      source.isUp = true;
    },
  };
});
