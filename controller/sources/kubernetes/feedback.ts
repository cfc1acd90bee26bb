import { NAME } from '../../../shared/name.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { ServedSnapshot } from '../source.ts';
import type { Cluster } from './api/cluster.ts';
import type { Resource } from './api/resource.ts';
import { EventWriter } from './events/event-writer.ts';
import type { Refusal } from './events/refusal.ts';
import type { KubernetesSettings } from './flags.ts';
import { LeaseHolder } from './leader/lease.ts';
import type { DesiredStatus } from './status/desired-status.ts';
import { PublishedAddresses } from './status/published-addresses.ts';
import { StatusWriter, type StatusWriterOptions } from './status/status-writer.ts';

export type FeedbackOptions = {
  readonly cluster: Cluster;
  readonly settings: Pick<KubernetesSettings, 'publish' | 'ingressClass'>;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly seen: StatusWriterOptions['seen'];
  /** The problems may have changed. */
  changed(): void;
};

/** What is written to the cluster once a snapshot is served. */
export type ClusterReports = { readonly statuses: readonly DesiredStatus[]; readonly refusals: readonly Refusal[] };

/**
 * Reports to the cluster: statuses and Events, written by one of the controllers that serve the same class. It follows what is served and
 * never delays it.
 */
export class Feedback {
  private readonly lease: LeaseHolder;
  private readonly addresses: PublishedAddresses;
  private readonly statuses: StatusWriter;
  private readonly events: EventWriter;

  constructor({ cluster, settings, identity, clock, random, log, seen, changed }: FeedbackOptions) {
    const mayWrite = () => this.lease.isHolder;
    const parts = { cluster, clock, random, log };
    this.statuses = new StatusWriter({ ...parts, seen, mayWrite });
    this.events = new EventWriter({ ...parts, identity, mayWrite });
    this.addresses = new PublishedAddresses(settings.publish, parts, () => {
      this.statuses.publish(this.addresses.list());
      changed();
    });
    this.lease = new LeaseHolder({
      ...parts,
      identity,
      name: leaseOf(settings.ingressClass),
      acquired: () => {
        this.statuses.judgeAll();
        this.events.lead();
      },
    });
    this.statuses.publish(this.addresses.list());
  }

  served({ statuses, refusals }: ClusterReports, { refused }: ServedSnapshot): void {
    this.statuses.want(statuses, refused);
    this.events.want(refusals);
  }

  statusChanged(resource: Resource<unknown>, name: string | null): void {
    this.statuses.changed(resource, name);
  }

  /** Why no addresses can be reported; null if they can. */
  problem(): string | null {
    return this.addresses.problem();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.lease, this.addresses, this.statuses, this.events].map((one) => one.run(signal)));
  }
}

const MAX_NAME = 253;

/** Controllers of the same class share a lease. */
const leaseOf = (ingressClass: string): string => `${NAME}-status-${ingressClass}`.slice(0, MAX_NAME);
