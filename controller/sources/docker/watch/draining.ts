import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Container } from '../engine/container.ts';
import { isStopSignal, signalNumber } from './stop-signals.ts';

/**
 * A container still running this long after a stop signal is considered to have ignored it (ms), unless it may take longer: then it would
 * have been killed a while ago.
 */
export const DRAIN_TIMEOUT_MS = 60_000;
const AFTER_KILL_MS = 10_000;

/** What decides how long a container drains. */
type Stoppable = Pick<Container, 'startedAt' | 'stopSignal' | 'stopTimeoutSecs'>;

/** When each signal was last sent, by our monotonic clock. */
type Signals = ReadonlyMap<string, number>;

type Stopping = {
  readonly signals: Signals;
  /** When the last one was sent, by the engine's clock (ms since 1970), and when the container had started as far as was known. */
  readonly at: number;
  readonly startedAt: string | null;
  readonly cancel: () => void;
};

/**
 * The containers that are draining: they were sent a stop signal and have not exited yet. The engine has no such state, only the event,
 * so it is remembered here.
 */
export type Draining = {
  /**
   * A signal was sent, `at` by the engine's clock (ms since 1970), `age` ms ago. It must be one that stops the container, unless nothing is
   * known of that one yet.
   */
  begin(id: string, signal: string, at: number, age?: number): void;
  /** It exited, restarted, or no longer exists. @returns whether it was draining. */
  end(id: string): boolean;
  ids(): ReadonlySet<string>;
  stop(): void;
};

/**
 * `expired` is called when a container is restored. `containerOf` is the container as last seen. That may become known only later: after a
 * start, signals are repeated before containers are listed.
 */
export function createDraining(clock: Clock, expired: (id: string) => void, containerOf: (id: string) => Stoppable | undefined): Draining {
  const stopping = new Map<string, Stopping>();
  const end = (id: string) => {
    stopping.get(id)?.cancel();
    return stopping.delete(id);
  };
  /** An engine that ended has reported neither that the container exited nor that it started again. A clock may have been set back. */
  const hasRestarted = (id: string, { at, startedAt }: Stopping): boolean => {
    const now = containerOf(id)?.startedAt ?? null;
    return startedAt !== null && now !== null && now !== startedAt && Date.parse(now) > at;
  };
  const isOver = (id: string, { signals }: Stopping): boolean => {
    const container = containerOf(id);
    return container !== undefined && endOf(signals, container) <= clock.monotonic();
  };
  return {
    begin: (id, signal, at, age = 0) => {
      const signals = new Map(stopping.get(id)?.signals).set(signal, clock.monotonic() - age);
      end(id);
      const startedAt = containerOf(id)?.startedAt ?? null;
      const wait = (ms: number, task: () => void) => stopping.set(id, { signals, at, startedAt, cancel: clock.after(ms, task) });
      const takeBack = () => {
        stopping.delete(id);
        expired(id);
      };
      const afterMinute = () => {
        const left = endOf(signals, containerOf(id)) - clock.monotonic();
        if (left > 0) wait(left, takeBack);
        else takeBack();
      };
      // How long the container may take is not known yet if this is what the engine repeats.
      wait(age < DRAIN_TIMEOUT_MS ? DRAIN_TIMEOUT_MS - age : DRAIN_TIMEOUT_MS, afterMinute);
    },
    end,
    ids: () => new Set([...stopping].filter(([id, one]) => !hasRestarted(id, one) && !isOver(id, one)).map(([id]) => id)),
    stop: () => {
      for (const id of [...stopping.keys()]) end(id);
    },
  };
}

/** When a container that was sent these signals is used again, by our monotonic clock. */
function endOf(signals: Signals, container: Stoppable | undefined): number {
  const own = container?.stopSignal ?? null;
  const stops = [...signals].filter(([signal]) => isStopSignal(signal, own));
  const wait = Math.max(DRAIN_TIMEOUT_MS, secsToStop(signals.keys(), container) * 1_000 + AFTER_KILL_MS);
  return Math.max(...stops.map(([, since]) => since)) + wait;
}

/** The time after which the engine kills it, if one of the signals is that of its stop: others may have been sent for another reason. */
function secsToStop(signals: Iterable<string>, container: Stoppable | undefined): number {
  if (container === undefined) return 0;
  const own = signalNumber(container.stopSignal ?? 'TERM');
  return [...signals].some((signal) => signalNumber(signal) === own) ? container.stopTimeoutSecs : 0;
}
