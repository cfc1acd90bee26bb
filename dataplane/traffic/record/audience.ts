import type { Audience, ListName, MachineReason } from '../protocol.ts';
import { CAMPAIGN_PARAMETERS, type CampaignParameter, campaignParameter, campaignQuery } from './campaign.ts';
import { increment } from './tally.ts';
import type { Client } from './user-agents.ts';

/** A person's view of a page. */
export type PageView = {
  readonly path: string;
  readonly target: string;
  /** The host that links to the page, if it is another one; otherwise empty. */
  readonly referrer: string;
  /** Empty if it is unknown. */
  readonly country: string;
  readonly client: Client;
};

type List = readonly (readonly [name: string, count: number])[];
/** One for all, since most hosts of most reports have nothing to list; a message contains it once. */
const NONE: List = [];
const NO_LISTS: Readonly<Record<ListName, List>> = {
  pages: NONE,
  entry_pages: NONE,
  referrers: NONE,
  countries: NONE,
  browsers: NONE,
  systems: NONE,
  devices: NONE,
  utm_source: NONE,
  utm_medium: NONE,
  utm_campaign: NONE,
};
const NO_MACHINES: Readonly<Record<MachineReason, number>> = { excluded: 0, gpc: 0, prefetch: 0, monitor: 0, bot: 0 };

type Counts = Map<string, number>;

/** The page views of the people among the clients of one host since the last report. Thousands of hosts have few lists with names. */
class PageViews {
  count = 0;
  private readonly pages: Counts = new Map();
  private entryPages: Counts | null = null;
  private referrers: Counts | null = null;
  private countries: Counts | null = null;
  private readonly clients = new Map<Client, number>();
  private campaigns: Readonly<Record<CampaignParameter, Counts>> | null = null;

  add({ path, target, referrer, country, client }: PageView, page: string): void {
    this.count++;
    increment(this.pages, page);
    if (referrer !== '') {
      this.entryPages ??= new Map();
      increment(this.entryPages, page);
      this.referrers ??= new Map();
      increment(this.referrers, referrer);
    }
    if (country !== '') {
      this.countries ??= new Map();
      increment(this.countries, country);
    }
    this.clients.set(client, (this.clients.get(client) ?? 0) + 1);
    const query = campaignQuery(target, path.length);
    if (query !== '') this.addCampaign(query);
  }

  lists(): Readonly<Record<ListName, List>> {
    return {
      pages: [...this.pages],
      entry_pages: listOf(this.entryPages),
      referrers: listOf(this.referrers),
      countries: listOf(this.countries),
      browsers: this.clientsBy('browser'),
      systems: this.clientsBy('system'),
      devices: this.clientsBy('device'),
      utm_source: listOf(this.campaigns?.utm_source),
      utm_medium: listOf(this.campaigns?.utm_medium),
      utm_campaign: listOf(this.campaigns?.utm_campaign),
    };
  }

  private addCampaign(query: string): void {
    this.campaigns ??= { utm_source: new Map(), utm_medium: new Map(), utm_campaign: new Map() };
    for (const name of CAMPAIGN_PARAMETERS) {
      const value = campaignParameter(query, name);
      if (value !== '') increment(this.campaigns[name], value);
    }
  }

  private clientsBy(member: keyof Client): List {
    const counts: Counts = new Map();
    for (const [client, count] of this.clients) counts.set(client[member], (counts.get(client[member]) ?? 0) + count);
    return [...counts];
  }
}

const listOf = (counts: Counts | null | undefined): List => (counts == null ? NONE : [...counts]);

/** The people and machines among the clients of one host since the last report. */
export class AudienceCounts {
  /** Requests of people. */
  humans = 0;
  private machines: Record<MachineReason, number> | null = null;
  /** Keyed hashes of their addresses. */
  readonly visitors = new Set<number>();
  private views: PageViews | null = null;

  /** A request of a machine. */
  machine(reason: MachineReason): void {
    this.machines ??= { ...NO_MACHINES };
    this.machines[reason]++;
  }

  /** `page` is the path as listed. */
  pageView(view: PageView, page: string): void {
    this.views ??= new PageViews();
    this.views.add(view, page);
  }

  report(): Audience {
    return {
      humans: this.humans,
      machines: this.machines ?? NO_MACHINES,
      pageViews: this.views?.count ?? 0,
      visitors: [...this.visitors],
      lists: this.views?.lists() ?? NO_LISTS,
    };
  }
}
