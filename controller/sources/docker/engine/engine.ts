import type { ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import { inspect } from 'node:util';
import type Dockerode from 'dockerode';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { Agent } from '../../../../shared/runtime/http/node-http.ts';
import { type About, askAbout } from './about.ts';
import { type ContainerSummary, readSummary } from './container-summary.ts';
import { type EngineAddress, formatEngineAddress } from './engine-address.ts';
import { type EngineEvent, readEvent } from './engine-event.ts';
import { EngineFailure, engineFailure, LateResponse } from './engine-failure.ts';

/**
 * A session with a container engine, with read requests only: version, events, the list of containers, and single containers. Each
 * rejects with an EngineFailure in one line; the session is then closed and another one opened.
 */
export interface EngineSession {
  /** By the engine's clock (ms since 1970), or by ours if it does not tell. */
  readonly openedAt: number;
  /** All containers, running or not. */
  list(): Promise<ContainerSummary[]>;
  /**
   * `late` is called if there is no response within the time limit, and the response is then used whenever it comes; without it, a late
   * response is a failure. @returns undefined if the container no longer exists.
   */
  inspect(id: string, late?: (failure: EngineFailure) => void): Promise<Dockerode.ContainerInspectInfo | undefined>;
  /**
   * Reports events from now on, and those since `since` (ms since 1970) as far as the engine remembers. If that is later than now, Podman
   * reports none of those before it, however new they are. Resolves once the engine has started to respond, or after a second, because some
   * engines respond only with the first event. `ended` is called once with the reason for the end of the stream.
   */
  follow(since: number | null, onEvent: (event: EngineEvent) => void, ended: (failure: EngineFailure) => void): Promise<void>;
  /** Ends the stream and all pending requests. */
  close(): void;
}

export interface Engine {
  /** For display. */
  readonly where: string;
  /** Negotiates a version of the API, unless `signal` is aborted. */
  open(signal?: AbortSignal): Promise<EngineSession>;
}

/** The newest API version that is supported, and the oldest that has everything needed. */
const NEWEST_API = '1.51';
const OLDEST_API = '1.24';
/** The time limit for a response (ms). Lists of thousands of containers take a second or two. */
export const ANSWER_MS = 10_000;
export const STREAM_BEGINS_MS = 1_000;
/** The longest event that is read (characters); longer lines are not events. */
const MAX_EVENT = 1_048_576;

/**
 * The time without traffic after which the system asks a remote engine whether it is still there (ms). A connection that a firewall or NAT
 * has forgotten is silent, as is a stream without events: it ends ten questions, a second apart, later.
 */
const KEEPALIVE_MS = 5_000;

/**
 * Sockets are not kept, because the next request may reach another engine at the same path. The library formats each request for its
 * debug log even when it is off; with all of an agent's sockets in it that takes 6 ms.
 */
class PlainAgent extends Agent {
  /** The library follows redirects to anywhere, and an error there ends the process: without a location it doesn't. */
  addRequest(request: ClientRequest, ...rest: readonly unknown[]): void {
    request.prependOnceListener('response', ({ headers }) => delete headers.location);
    Reflect.apply(Reflect.get(Agent.prototype, 'addRequest'), this, [request, ...rest]);
  }

  override createConnection(...args: Parameters<Agent['createConnection']>): ReturnType<Agent['createConnection']> {
    const socket = super.createConnection(...args);
    if (socket instanceof Socket) socket.setKeepAlive(true, KEEPALIVE_MS);
    return socket;
  }

  [inspect.custom](): string {
    return 'Agent';
  }
}

type EngineTools = { clock: Clock; address: EngineAddress };

/** dockerode is loaded on first use, so that controllers without container discovery do not load its megabytes. */
export function createEngine(address: EngineAddress, clock: Clock): Engine {
  const tools = { clock, address };
  return {
    where: formatEngineAddress(address),
    open: async (signal) => {
      const { default: Docker } = await import('dockerode');
      signal?.throwIfAborted();
      const agent = new PlainAgent({ keepAlive: false });
      const stop = () => agent.destroy();
      signal?.addEventListener('abort', stop, { once: true });
      // Absent halves are passed explicitly, or DOCKER_HOST would fill them in.
      const target =
        address.kind === 'unix'
          ? { socketPath: address.path, host: undefined, port: undefined }
          : { socketPath: undefined, host: address.host, port: address.port };
      const options = { ...target, protocol: 'http', agent } as const;
      try {
        const about = await within(tools, 'report its version', askAbout(new Docker(options)));
        const version = negotiatedVersion(address, about);
        return session(tools, new Docker({ ...options, version: `v${version}` }), agent, about.at ?? clock.now());
      } catch (error) {
        stop();
        throw error instanceof EngineFailure ? new EngineFailure(error.message, { ...flagsOf(error), isUnreached: true }) : error;
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    },
  };
}

const flagsOf = ({ isOfRequest, isForbidden, isNoEngine }: EngineFailure) => ({ isOfRequest, isForbidden, isNoEngine });

function session(tools: EngineTools, docker: Dockerode, agent: Agent, openedAt: number): EngineSession {
  let closed = false;
  return {
    openedAt,
    list: async () => {
      const listed: unknown = await within(tools, 'list containers', docker.listContainers({ all: true }));
      if (!Array.isArray(listed)) throw engineFailure(tools.address, 'list containers', new Error('the response was truncated'));
      return listed.map(readSummary).filter((one) => one !== undefined);
    },
    inspect: async (id, late) => {
      try {
        const found = await within(tools, 'inspect a container', docker.getContainer(id).inspect().catch(undefinedIfGone), late);
        if (found === undefined) return undefined;
        if (typeof found?.Id !== 'string') throw new Error('the response was truncated');
        return found;
      } catch (error) {
        throw engineFailure(tools.address, 'inspect a container', error);
      }
    },
    follow: (since, onEvent, ended) => {
      const end = (error: unknown) => {
        if (closed) return;
        closed = true;
        ended(engineFailure(tools.address, 'stream its events', error));
      };
      const stream = docker.getEvents({
        filters: { type: ['container', 'network'] },
        ...(since === null ? {} : { since: Math.floor(since) / 1_000 }),
      });
      const started = stream.then((events) => readLines(events, onEvent, end), end);
      const late = Promise.withResolvers<void>();
      return Promise.race([started, late.promise]).finally(tools.clock.after(STREAM_BEGINS_MS, late.resolve));
    },
    close: () => {
      closed = true;
      agent.destroy();
    },
  };
}

/** The lower of our version and the engine's. If the engine rejects ours as too old, its oldest version is used. */
export function negotiatedVersion(address: EngineAddress, about: Pick<About, 'ApiVersion' | 'MinAPIVersion'>): string {
  const engineVersion = typeof about.ApiVersion === 'string' && /^\d+\.\d+$/.test(about.ApiVersion) ? about.ApiVersion : undefined;
  const where = formatEngineAddress(address);
  if (engineVersion === undefined)
    throw new EngineFailure(`the server at ${where} is not a container engine; name one with --docker SOCKET`, { isNoEngine: true });
  if (isLower(engineVersion, OLDEST_API))
    throw new EngineFailure(`the container engine at ${where} speaks API ${engineVersion}; ${OLDEST_API} or newer is needed`, {
      isNoEngine: true,
    });
  const least = typeof about.MinAPIVersion === 'string' && /^\d+\.\d+$/.test(about.MinAPIVersion) ? about.MinAPIVersion : OLDEST_API;
  if (isLower(engineVersion, NEWEST_API)) return engineVersion;
  return isLower(NEWEST_API, least) ? least : NEWEST_API;
}

function isLower(a: string, b: string): boolean {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA < majorB || (majorA === majorB && minorA < minorB);
}

function undefinedIfGone(error: unknown): undefined {
  if ((error as { statusCode?: unknown }).statusCode !== 404) throw error;
}

/** Limits the time for a response; with `late`, reports when it is over. */
async function within<T>(
  { clock, address }: EngineTools,
  what: string,
  answer: Promise<T>,
  late?: (failure: EngineFailure) => void,
): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const failure = () => engineFailure(address, what, new LateResponse(ANSWER_MS));
  const cancel = clock.after(ANSWER_MS, () => (late ? late(failure()) : limit.reject(failure())));
  try {
    return await Promise.race([answer, limit.promise]);
  } catch (error) {
    throw engineFailure(address, what, error);
  } finally {
    cancel();
  }
}

function readLines(stream: NodeJS.ReadableStream, onEvent: (event: EngineEvent) => void, end: (error: unknown) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_EVENT) rest = '';
    for (const line of lines) {
      const event = line.trim() === '' ? undefined : readEvent(line);
      if (event) onEvent(event);
    }
  });
  stream.once('error', end);
  stream.once('close', () => end(new Error('the stream was closed')));
}
