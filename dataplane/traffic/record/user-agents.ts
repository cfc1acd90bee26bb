import bowser from 'bowser';
import { isbot } from 'isbot';
import { monitors } from './monitors.ts';
import { copied } from './tally.ts';

/** Only the beginning of a longer User-Agent is read (characters). */
const MAX_LENGTH = 512;
/** How many User-Agents one generation of the cache holds. */
const REMEMBERED = 4_096;
/**
 * The maximum number of browsers identified between two reports. A flood of invented ones takes 1 % of a core; the rest of it is `other`.
 */
const MAX_IDENTIFIED = 1_000;

export type Device = 'desktop' | 'mobile' | 'tablet' | 'other';
/** A person's browser, system and device. There is one object for each combination. */
export type Client = { readonly browser: string; readonly system: string; readonly device: Device };

/** The classification of one User-Agent. */
class UserAgent {
  readonly machine: 'monitor' | 'bot' | null;
  /** null until it is needed. */
  client: Client | null = null;

  constructor(machine: UserAgent['machine']) {
    this.machine = machine;
  }
}

export const OTHER = 'other';
const BROWSERS = new Set(Object.values(bowser.BROWSER_MAP));
const SYSTEMS = new Set(Object.values(bowser.OS_MAP));
const DEVICES: ReadonlyMap<string, Device> = new Map([
  ['desktop', 'desktop'],
  ['mobile', 'mobile'],
  ['tablet', 'tablet'],
]);
const DESKTOP_SYSTEMS = new Set(['Windows', 'macOS', 'Linux', 'Chrome OS']);
/** A request without User-Agent, which every browser sends. */
const NONE = new UserAgent('bot');

/** Determines from the User-Agent who sends a request, and with which browser. Each is parsed once, as long as it is cached. */
export class UserAgents {
  /** Two generations, so that a flood of invented ones does not displace those in use. */
  private recent = new Map<string, UserAgent>();
  private older = new Map<string, UserAgent>();
  private readonly clients = new Map<string, Client>();
  private identified = 0;

  find(text: string | null): UserAgent {
    if (text === null || text === '') return NONE;
    const read = text.length > MAX_LENGTH ? text.slice(0, MAX_LENGTH) : text;
    return this.recent.get(read) ?? this.remember(read);
  }

  /** The browser, system and device of a person; `text` is what `find` was called with. */
  clientOf(agent: UserAgent, text: string): Client {
    if (agent.client !== null) return agent.client;
    if (this.identified >= MAX_IDENTIFIED) return this.shared(OTHER, OTHER, OTHER);
    this.identified++;
    agent.client = this.identify(text.slice(0, MAX_LENGTH));
    return agent.client;
  }

  /** Called with each report. */
  refill(): void {
    this.identified = 0;
  }

  private remember(text: string): UserAgent {
    if (this.recent.size >= REMEMBERED) {
      this.older = this.recent;
      this.recent = new Map();
    }
    const agent = this.older.get(text) ?? new UserAgent(monitors(text) ? 'monitor' : isbot(text) ? 'bot' : null);
    this.recent.set(copied(text), agent);
    return agent;
  }

  private identify(text: string): Client {
    const parser = bowser.getParser(text, true);
    const [browser, system] = [parser.getBrowserName(), parser.getOSName()];
    // The library copies names that it doesn't know from the text itself, so clients could choose the names that are listed.
    const known = SYSTEMS.has(system) ? system : OTHER;
    const device = DEVICES.get(parser.getPlatformType()) ?? (DESKTOP_SYSTEMS.has(known) ? 'desktop' : OTHER);
    return this.shared(BROWSERS.has(browser) ? browser : OTHER, known, device);
  }

  private shared(browser: string, system: string, device: Device): Client {
    const name = `${browser}/${system}/${device}`;
    let client = this.clients.get(name);
    if (client === undefined) {
      client = { browser, system, device };
      this.clients.set(name, client);
    }
    return client;
  }
}
