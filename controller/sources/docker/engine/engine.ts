import { Agent } from 'node:http';
import { inspect } from 'node:util';
import type Dockerode from 'dockerode';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { type ContainerSummary, readSummary } from './container-summary.ts';
import { type EngineAddress, formatEngineAddress } from './engine-address.ts';
import { type EngineEvent, readEvent } from './engine-event.ts';
import { EngineFailure, engineFailure } from './engine-failure.ts';

/**
 * A container engine, asked read questions alone: version, events, the list of containers, and single ones.
 * Each rejects with an EngineFailure in one line; after one the session is closed and another is opened.
 */
export interface EngineSession {
  /** All containers, running or not. */
  list(): Promise<ContainerSummary[]>;
  /** @returns undefined when it is gone. */
  inspect(id: string): Promise<Dockerode.ContainerInspectInfo | undefined>;
  /**
   * Tells what happens from now on, and what happened since `since` (ms since 1970) as far as the engine remembers.
   * Resolves once the engine has begun to answer, or after a second: some engines only begin with the first event.
   * `ended` hears once why the stream is over.
   */
  follow(since: number | null, hear: (event: EngineEvent) => void, ended: (failure: EngineFailure) => void): Promise<void>;
  /** Ends the stream and whatever is still being asked. */
  close(): void;
}

export interface Engine {
  /** For people. */
  readonly where: string;
  /** Agrees on a version of the API, unless `signal` is aborted. */
  open(signal?: AbortSignal): Promise<EngineSession>;
}

/** The newest version of the API that this was written against, and the oldest that says all that is needed. */
const NEWEST_API = '1.51';
const OLDEST_API = '1.24';
/** An answer that takes longer is none (ms). Lists of thousands of containers take a second or two. */
export const ANSWER_MS = 10_000;
const STREAM_BEGINS_MS = 1_000;
/** The longest event that is read, in characters; longer ones are not events. */
const MAX_EVENT = 1_048_576;

/**
 * Sockets are not kept: the engine that is asked next may be another one behind the same path. The library
 * words each request for its debug log, wanted or not; with all of an agent's sockets in it that takes 6 ms.
 */
class PlainAgent extends Agent {
  [inspect.custom](): string {
    return 'Agent';
  }
}

type EngineTools = { clock: Clock; address: EngineAddress };

/** dockerode is loaded when the engine is first asked: who discovers no containers does without its megabytes. */
export function createEngine(address: EngineAddress, clock: Clock): Engine {
  const asked = { clock, address };
  return {
    where: formatEngineAddress(address),
    open: async (signal) => {
      const { default: Docker } = await import('dockerode');
      signal?.throwIfAborted();
      const agent = new PlainAgent({ keepAlive: false });
      const stop = () => agent.destroy();
      signal?.addEventListener('abort', stop, { once: true });
      // Absent halves are named, or DOCKER_HOST would fill them in.
      const target =
        address.kind === 'unix'
          ? { socketPath: address.path, host: undefined, port: undefined }
          : { socketPath: undefined, host: address.host, port: address.port };
      const options = { ...target, protocol: 'http', agent } as const;
      try {
        const about = await within(asked, 'tell its version', new Docker(options).version());
        const version = negotiatedVersion(address, about);
        return session(asked, new Docker({ ...options, version: `v${version}` }), agent);
      } catch (error) {
        stop();
        throw error;
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    },
  };
}

function session(asked: EngineTools, docker: Dockerode, agent: Agent): EngineSession {
  let closed = false;
  return {
    list: async () => {
      const listed: unknown = await within(asked, 'list containers', docker.listContainers({ all: true }));
      if (!Array.isArray(listed)) throw engineFailure(asked.address, 'list containers', new Error('the answer was cut off'));
      return listed.map(readSummary).filter((one) => one !== undefined);
    },
    inspect: async (id) => {
      try {
        const found = await within(asked, 'inspect a container', docker.getContainer(id).inspect(), isGone);
        if (found === undefined) return undefined;
        if (typeof found?.Id !== 'string') throw new Error('the answer was cut off');
        return found;
      } catch (error) {
        throw engineFailure(asked.address, 'inspect a container', error);
      }
    },
    follow: (since, hear, ended) => {
      const end = (error: unknown) => {
        if (closed) return;
        closed = true;
        ended(engineFailure(asked.address, 'tell its events', error));
      };
      const stream = docker.getEvents({
        filters: { type: ['container', 'network'] },
        ...(since === null ? {} : { since: Math.floor(since) / 1_000 }),
      });
      const begun = stream.then((events) => readLines(events, hear, end), end);
      const late = Promise.withResolvers<void>();
      return Promise.race([begun, late.promise]).finally(asked.clock.after(STREAM_BEGINS_MS, late.resolve));
    },
    close: () => {
      closed = true;
      agent.destroy();
    },
  };
}

/** The lower of ours and the engine's; an engine that refuses ours as too old is asked for its oldest. */
export function negotiatedVersion(address: EngineAddress, about: { ApiVersion?: unknown; MinAPIVersion?: unknown }): string {
  const theirs = typeof about.ApiVersion === 'string' && /^\d+\.\d+$/.test(about.ApiVersion) ? about.ApiVersion : undefined;
  const where = formatEngineAddress(address);
  if (theirs === undefined) throw new EngineFailure(`what answers at ${where} is no container engine; name one with --docker SOCKET`);
  if (isLower(theirs, OLDEST_API))
    throw new EngineFailure(`the container engine at ${where} speaks API ${theirs}; ${OLDEST_API} or newer is needed`);
  const least = typeof about.MinAPIVersion === 'string' && /^\d+\.\d+$/.test(about.MinAPIVersion) ? about.MinAPIVersion : OLDEST_API;
  if (isLower(theirs, NEWEST_API)) return theirs;
  return isLower(NEWEST_API, least) ? least : NEWEST_API;
}

function isLower(a: string, b: string): boolean {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA < majorB || (majorA === majorB && minorA < minorB);
}

const isGone = (error: unknown): boolean => (error as { statusCode?: unknown }).statusCode === 404;

/** An answer in time. `absent` tells which error means that there is nothing. */
function within<T>(asked: EngineTools, what: string, answer: Promise<T>): Promise<T>;
function within<T>(asked: EngineTools, what: string, answer: Promise<T>, absent: (error: unknown) => boolean): Promise<T | undefined>;
function within<T>({ clock, address }: EngineTools, what: string, answer: Promise<T>, absent?: (error: unknown) => boolean) {
  return new Promise<T | undefined>((resolve, reject) => {
    const cancel = clock.after(ANSWER_MS, () => reject(engineFailure(address, what, new Error(`no answer within ${ANSWER_MS / 1_000} s`))));
    answer.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        if (absent?.(error)) resolve(undefined);
        else reject(engineFailure(address, what, error));
      },
    );
  });
}

function readLines(stream: NodeJS.ReadableStream, hear: (event: EngineEvent) => void, end: (error: unknown) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_EVENT) rest = '';
    for (const line of lines) {
      const event = line.trim() === '' ? undefined : readEvent(line);
      if (event) hear(event);
    }
  });
  stream.once('error', end);
  stream.once('close', () => end(new Error('the stream was cut')));
}
