import { isIP } from 'node:net';
import * as z from 'zod';
import { parseDirectoryUrl } from './certificates/acme-directory.ts';
import { readAcmeRoots } from './certificates/acme-roots.ts';
import { MAX_CONNECTIONS, MAX_PORTS, MIN_CACHE_BYTES } from './limits.ts';
import { parseCidr } from './values/cidr.ts';
import { accepted, type Parsed, refused } from './values/parsed.ts';
import { readBy } from './values/read-by.ts';

/**
 * The globals of a config file as sent to the data plane. An absent member means the default. Flags and environment variables of the data
 * plane take precedence.
 */
const port = z.int().min(1).max(65_535);
export const DEFAULT_HTTP_PORT = 80;
export const DEFAULT_HTTPS_PORT = 443;

/** One port, or several, of which the first is the main one. */
const ports = z.union([port, z.array(port).min(1).max(MAX_PORTS)]);
const connections = z.int().min(1).max(MAX_CONNECTIONS);

export const globalsSchema = z.object({
  http_port: ports.optional(),
  https_port: ports.optional(),
  bind: z
    .string()
    .refine((text) => isIP(text) !== 0, 'bind must be an IP address')
    .optional(),
  email: z.string().min(3).max(320).optional(),
  acme_directory: readBy(parseDirectoryUrl).optional(),
  /** PEM: the roots that verify the HTTPS certificate of the ACME directory. */
  acme_ca_root: readBy(readAcmeRoots).optional(),
  local_certs: z.boolean().optional(),
  trusted_proxies: z.array(readBy(parseCidr)).max(1_000).optional(),
  max_connections: connections.optional(),
  max_connections_per_address: connections.optional(),
  /** Bytes. */
  cache: z.int().min(MIN_CACHE_BYTES).optional(),
  /** Milliseconds. */
  drain_timeout: z.int().min(0).max(86_400_000).optional(),
});

export type Globals = Readonly<z.output<typeof globalsSchema>>;

/** Reads the globals of a config file that another process has compiled. The reason names the first invalid one. */
export function parseGlobals(input: unknown): Parsed<Globals> {
  const result = globalsSchema.safeParse(input);
  if (result.success) return accepted(result.data);
  const issue = result.error.issues[0];
  return refused(`${issue?.path.join('.') || 'settings'}: ${issue?.message ?? 'are not settings'}`);
}

/** The origin of an effective setting, highest precedence first. */
export type SettingOrigin = 'flag' | 'environment' | 'file' | 'default';
