import { join } from 'node:path';
import { NAME } from '../shared/name.ts';
import { runningBuild } from '../shared/runtime/build.ts';
import type { Clock } from '../shared/runtime/clock.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import type { Log } from '../shared/runtime/log.ts';
import type { Random } from '../shared/runtime/random.ts';
import { describeTakenBy, runningInstance } from '../shared/runtime/running-instance.ts';
import { TAKEOVER_SOCKET } from '../shared/wire/takeover.ts';
import { listenOrUsageError } from './listen-error.ts';
import {
  type DataplaneSettings,
  type EffectiveSettings,
  effectiveSettings,
  requireTrustedProxies,
  trafficSettings,
} from './settings/settings.ts';
import { prepareStateDir } from './settings/state-directory.ts';
import { bootId } from './table/controllers/confirmation.ts';
import { type Restored, restore } from './table/disk/restore.ts';
import { TakeoverClient } from './takeover/takeover-client.ts';
import type { DnsSettings } from './tls/issue/dns/dns-settings.ts';
import { Keyring } from './tls/keyring.ts';
import { probePort } from './workers/probe-port.ts';

/** What is outside of the process. */
export type Runtime = { readonly clock: Clock; readonly random: Random; readonly log: Log };

/** What is known before anything runs. */
export type BootState = {
  /** As flags and environment say. */
  readonly base: DataplaneSettings;
  /** The same with the globals that were saved. */
  readonly atBoot: EffectiveSettings;
  readonly dns: DnsSettings | null;
  readonly keyring: Keyring;
  readonly restored: Restored;
  /** What this process is to the one that it takes over from; null where there is none. */
  readonly takeover: TakeoverClient | null;
};

/** Reads what is on disk, and sees that it can be served. @throws UsageError. */
export async function boot(base: DataplaneSettings, { clock, random, log }: Runtime): Promise<BootState> {
  prepareStateDir(base.stateDir);
  if (!base.takeover) await requireAlone(base.stateDir);
  const keyring = new Keyring(base.stateDir, clock.now(), { random, log });
  const succession = base.takeover ? await takeoverStep(base.stateDir, () => startTakeover(base.stateDir, clock, log)) : null;
  const restored = await restore(base.stateDir, clock, log, { boot: bootId(), takenOver: succession !== null });
  const atBoot = effectiveSettings(base, restored.globals);
  requireTrustedProxies(atBoot.settings);
  const dns = await dnsSettingsOf(atBoot.settings);
  if (succession === null) await requirePorts(atBoot.settings);
  return { base, atBoot, dns, keyring, restored, takeover: succession };
}

/** @throws UsageError naming the process that runs with this state. */
async function requireAlone(stateDir: string): Promise<void> {
  const first = await runningInstance(stateDir);
  if (first !== null) throw new UsageError(`${NAME} dataplane: ${describeTakenBy(stateDir, first)}`);
}

/** A step of taking over, in which the other process may refuse. @throws UsageError. */
export async function takeoverStep<T>(stateDir: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    throw new UsageError(`${NAME} dataplane: can't take over from the process behind ${join(stateDir, TAKEOVER_SOCKET)}: ${reason}`);
  }
}

/** Has a running data plane let go of its state. @returns null where none is there. @throws ChannelError. */
async function startTakeover(stateDir: string, clock: Clock, log: Log): Promise<TakeoverClient | null> {
  const path = join(stateDir, TAKEOVER_SOCKET);
  const succession = await TakeoverClient.start(path, { version: runningBuild.version, pid: process.pid }, clock);
  if (succession === null) log.info({ socket: path }, 'nobody to take over from: starting as usual');
  return succession;
}

/** Another process on the same port would share it with the workers, and nobody would know. @throws UsageError. */
async function requirePorts(settings: DataplaneSettings): Promise<void> {
  const { bind, httpPort, httpsPort } = trafficSettings(settings);
  await listenOrUsageError('--http-port', () => probePort(bind, httpPort), httpPort);
  if (httpsPort !== null) await listenOrUsageError('--https-port', () => probePort(bind, httpsPort), httpsPort);
}

/** How records are set for checks. @throws UsageError naming the flag. */
async function dnsSettingsOf({ dnsHook, dnsServer, dnsKeyPath, dnsResolver }: DataplaneSettings): Promise<DnsSettings | null> {
  if ([dnsHook, dnsServer, dnsKeyPath, dnsResolver].every((given) => given === null)) return null;
  try {
    // Few need it, and those who don't need not hold it in memory.
    const { readDnsSettings } = await import('./tls/issue/dns/dns-settings.ts');
    return readDnsSettings({ hook: dnsHook, server: dnsServer, keyPath: dnsKeyPath, resolver: dnsResolver });
  } catch (error) {
    throw new UsageError(`${NAME} dataplane: ${error instanceof Error ? error.message : error}`);
  }
}
