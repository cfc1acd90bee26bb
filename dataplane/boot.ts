import { closeSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAME } from '../shared/name.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { codeOf } from '../shared/runtime/error-code.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import type { Log } from '../shared/runtime/log/log.ts';
import { runningBuild } from '../shared/runtime/process/build.ts';
import { describeTakenBy, runningInstance } from '../shared/runtime/process/running-instance.ts';
import { HANDED_OVER_EXIT } from '../shared/runtime/process/supervised.ts';
import type { Random } from '../shared/runtime/random.ts';
import { TAKEOVER_SOCKET, type VersionOf } from '../shared/wire/takeover.ts';
import { openLog } from './access-log/log-output.ts';
import { listenOrUsageError, listenReason } from './listen-error.ts';
import { type ClosedPort, closedPort, ownUseOf, requireDistinctPorts, wantedPorts } from './settings/ports.ts';
import {
  type DataplaneSettings,
  type EffectiveSettings,
  effectiveSettings,
  requireTrustedProxies,
  trafficSettings,
  withClosedPorts,
} from './settings/settings.ts';
import { exitCodeOf, prepareStateDir } from './settings/state-directory.ts';
import { startId } from './table/controllers/start-id.ts';
import { DATABASE, type Restored, restore } from './table/disk/restore.ts';
import { describeProcess } from './takeover/describe-process.ts';
import { TakeoverClient } from './takeover/takeover-client.ts';
import type { DnsSettings } from './tls/issue/dns/dns-settings.ts';
import { Keyring } from './tls/keyring.ts';
import { probePort } from './workers/probe-port.ts';

/** The parts of the process environment that tests replace. */
export type Runtime = { readonly clock: Clock; readonly random: Random; readonly log: Log };

/** The result of booting, before anything runs. */
export type BootState = {
  /** From flags and environment. */
  readonly base: DataplaneSettings;
  /** The same with the saved globals of the config file. */
  readonly atBoot: EffectiveSettings;
  readonly dns: DnsSettings | null;
  readonly keyring: Keyring;
  readonly restored: Restored;
  /** The takeover from a running process; null if there is none. */
  readonly takeover: TakeoverClient | null;
  /** Why the state directory can't be written; null if it can. */
  readonly unwritable: string | null;
};

/** Reads the saved state and checks that it can be served. @throws UsageError. */
export async function boot(base: DataplaneSettings, { clock, random, log }: Runtime): Promise<BootState> {
  const unwritable = prepareStateDir(base.stateDir, DATABASE);
  if (!base.takeover) await requireAlone(base.stateDir);
  const keyring = openKeyring(base.stateDir, { clock, random, log });
  const takeover = base.takeover ? await takeoverStep(base.stateDir, () => startTakeover(base.stateDir, clock, log)) : null;
  const restored = await restore(base.stateDir, clock, log, { boot: startId(), takenOver: takeover !== null, unwritable });
  const wanted = effectiveSettings(base, restored.globals);
  requireDistinctPorts(wanted.settings);
  requireTrustedProxies(wanted.settings);
  requireRoots(wanted.settings.acmeRoot);
  const dns = await dnsSettingsOf(wanted.settings);
  const atBoot = withClosedPorts(wanted, await closedPorts(wanted.settings, takeover === null ? [] : takeover.ports));
  requireAccessLog(atBoot.settings.accessLog, log);
  return { base, atBoot, dns, keyring, restored, takeover, unwritable };
}

/** @throws UsageError if there is a key ring that can't be read: new secrets would overwrite it. */
export function openKeyring(stateDir: string, { clock, random, log }: Runtime): Keyring {
  try {
    return new Keyring(stateDir, clock.now(), { random, log });
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new UsageError(`${NAME} dataplane: can't use the key ring in ${stateDir}: ${reason}`, exitCodeOf(error));
  }
}

/** @throws UsageError naming the process that is already running with this state. */
async function requireAlone(stateDir: string): Promise<void> {
  const first = await runningInstance(stateDir);
  if (first !== null) throw new UsageError(`${NAME} dataplane: ${describeTakenBy(stateDir, first)}`);
}

type Leaver = { readonly clock: Clock; readonly leaving: (successor: VersionOf) => void };

/** Another process serves in place of the one that this process was to replace. */
class ReplacedError extends UsageError {
  override readonly exitCode = HANDED_OVER_EXIT;
}

/**
 * A process that died while another one took over from it could not say so to its parent. That would start one process after the other, which
 * with `--takeover` replaces the newer one. A successor that the same parent has started, it knows about. @throws UsageError.
 */
export async function leaveIfReplaced(stateDir: string, { clock, leaving }: Leaver): Promise<void> {
  const successor = await runningInstance(stateDir);
  const own = describeProcess(process, clock.now());
  if (successor === null || (successor.pid === own.pid && successor.processes === own.processes)) return;
  leaving({ version: successor.version, pid: successor.pid });
  throw new ReplacedError(
    `${NAME} dataplane: not restarted: process ${successor.pid} (version ${successor.version}) has taken over ${stateDir}`,
  );
}

/** Runs a step of a takeover, which the other process may refuse. @throws UsageError. */
export async function takeoverStep<T>(stateDir: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new UsageError(`${NAME} dataplane: can't take over from the process behind ${join(stateDir, TAKEOVER_SOCKET)}: ${reason}`);
  }
}

/** Makes a running data plane release its state. @returns null if none is running. @throws ChannelError. */
async function startTakeover(stateDir: string, clock: Clock, log: Log): Promise<TakeoverClient | null> {
  const path = join(stateDir, TAKEOVER_SOCKET);
  const takeover = await TakeoverClient.start(path, { version: runningBuild.version, pid: process.pid }, clock);
  if (takeover === null) log.info({ socket: path }, 'no running process to take over from: starting as usual');
  return takeover;
}

/**
 * Checks that the ports are free: with SO_REUSEPORT, another process on the same port would silently share the traffic. The predecessor of a
 * takeover does so on purpose, with those in `shared`; null if it does not say which they are: then workers find out what they can't open.
 * @returns the ports of the config file that can't be opened, and those at an address of the file that the machine does not have: they were
 * saved before they were tried, or were taken since. All of them may be closed if they were saved, because the controller that could correct
 * them needs the Admin API.
 * @throws UsageError for a port of a flag, if no port of the parent's config file can be opened, and if the predecessor listens on others
 * because of one that can't be opened.
 */
async function closedPorts(settings: DataplaneSettings, shared: readonly number[] | null): Promise<ClosedPort[]> {
  if (shared === null) return [];
  const { bind, origins, parentGlobals } = settings;
  const all = wantedPorts(trafficSettings(settings));
  const closed: ClosedPort[] = [];
  for (const { port, flag } of all) {
    // Its sockets are passed on, also to another user.
    if (shared.includes(port)) continue;
    const isOfFile = (flag === '--http-port' ? origins.httpPort : origins.httpsPort) === 'file';
    try {
      const use = isOfFile ? ownUseOf(settings, port) : null;
      if (use !== null) throw new Error(use);
      await probePort(bind, port);
    } catch (error) {
      // The machine may no longer have the address that the file names.
      if (isOfFile || (origins.bind === 'file' && isOtherAddress(error))) closed.push(closedPort(port, flag, listenReason(error, port)));
      else await listenOrUsageError(flag, () => Promise.reject(error), port);
    }
  }
  const [first] = closed;
  const losesOthers = shared.some((port) => all.every((one) => one.port !== port));
  if (first !== undefined && (losesOthers || (parentGlobals !== null && closed.length === all.length)))
    throw new UsageError(
      `${NAME} dataplane: can't listen on ${first.port}: ${first.reason}; name another with ${first.setting} in the config file`,
    );
  return closed;
}

const isOtherAddress = (error: unknown): boolean => codeOf(error) === 'EADDRNOTAVAIL';

/**
 * Errors that only a change of the setting or of the directory can end. Others, such as a full disk, must not keep the proxy from starting.
 */
const WRONG_PATH = new Set(['EACCES', 'EISDIR', 'ELOOP', 'ENAMETOOLONG', 'ENOENT', 'ENOTDIR', 'EPERM', 'EROFS']);

/** @throws UsageError if the file of the access log can't be opened. */
function requireAccessLog(path: string | null, log: Log): void {
  if (path === null || path === 'stdout') return;
  try {
    closeSync(openLog(path, true));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    // It was written before its disk became read-only.
    const isOld = code === 'EROFS' && existsSync(path);
    if (WRONG_PATH.has(code) && !isOld) throw new UsageError(`${NAME} dataplane: --access-log ${path} can't be opened: ${message}`);
    log.warn({ output: path, error: message }, "the access log can't be written");
  }
}

/** @throws UsageError if the file with the roots of the ACME server can't be read. What it contains is checked with each order. */
function requireRoots(root: DataplaneSettings['acmeRoot']): void {
  if (typeof root !== 'string') return;
  try {
    readFileSync(root);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (WRONG_PATH.has(code)) throw new UsageError(`${NAME} dataplane: --acme-ca-root ${root} can't be read: ${message}`);
  }
}

/** How DNS records are set for DNS-01. @throws UsageError naming the flag. */
async function dnsSettingsOf({ dnsHook, dnsServer, dnsKeyPath, dnsResolver }: DataplaneSettings): Promise<DnsSettings | null> {
  if ([dnsHook, dnsServer, dnsKeyPath, dnsResolver].every((given) => given === null)) return null;
  try {
    // Loaded only when needed, to save memory.
    const { readDnsSettings } = await import('./tls/issue/dns/dns-settings.ts');
    return readDnsSettings({ hook: dnsHook, server: dnsServer, keyPath: dnsKeyPath, resolver: dnsResolver });
  } catch (error) {
    throw new UsageError(`${NAME} dataplane: ${error instanceof Error ? error.message : error}`);
  }
}
