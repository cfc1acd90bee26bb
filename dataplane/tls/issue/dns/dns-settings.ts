import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import type { DnsServer } from './exchange.ts';
import { HookProvider } from './hook-provider.ts';
import { PropagationCheck } from './propagation.ts';
import type { DnsProvider } from './provider.ts';
import { Rfc2136Provider } from './rfc2136-provider.ts';
import type { TsigKey } from './tsig.ts';
import { parseTsigKey } from './tsig-key.ts';

/** How records for DNS-01 are set. */
export type DnsSettings = {
  readonly how:
    | { readonly kind: 'hook'; readonly path: string }
    | { readonly kind: 'update'; readonly server: DnsServer; readonly key: TsigKey | null };
  /** The resolver that checks propagation; null: the zone's authoritative servers. */
  readonly resolver: DnsServer | null;
};

/** The flags for DNS-01. */
export type DnsFlags = {
  readonly hook: string | null;
  readonly server: DnsServer | null;
  readonly keyPath: string | null;
  readonly resolver: DnsServer | null;
};

/** null if no flag is set. @throws Error in one line that names the flag. */
export function readDnsSettings({ hook, server, keyPath, resolver }: DnsFlags): DnsSettings | null {
  if (hook !== null && server !== null) throw new Error('--acme-dns-hook and --acme-dns-server both set DNS records: name one of them');
  if (keyPath !== null && server === null) throw new Error('--acme-dns-key-file is for the server that --acme-dns-server names: name one');
  if (hook !== null) return { how: { kind: 'hook', path: runnable(hook) }, resolver };
  if (server === null) return null;
  return { how: { kind: 'update', server, key: keyPath === null ? null : readKey(keyPath) }, resolver };
}

export function createProvider(
  { how }: DnsSettings,
  tools: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): DnsProvider {
  return how.kind === 'hook' ? new HookProvider({ ...tools, path: how.path }) : new Rfc2136Provider({ ...tools, ...how });
}

export const createPropagationCheck = ({ resolver }: DnsSettings): PropagationCheck => new PropagationCheck(resolver);

function runnable(path: string): string {
  const refuse = (reason: string): never => {
    throw new Error(`--acme-dns-hook: can't run ${path}: ${reason}`);
  };
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return refuse('there is no such file');
  try {
    accessSync(path, constants.X_OK);
    // A bare name would be searched in PATH.
    return resolve(path);
  } catch {
    return refuse('it is not executable (chmod +x)');
  }
}

function readKey(path: string): TsigKey {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`--acme-dns-key-file: can't read ${path} (${error instanceof Error && 'code' in error ? error.code : String(error)})`);
  }
  const key = parseTsigKey(text);
  if (!key.ok) throw new Error(`--acme-dns-key-file: ${path}: ${key.reason}`);
  return key.value;
}
