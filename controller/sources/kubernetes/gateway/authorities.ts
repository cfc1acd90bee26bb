import { X509Certificate } from 'node:crypto';
import type { AuthorityConfig } from '../objects/config-map.ts';
import { nameOf } from '../objects/meta.ts';
import type { ObjectRef } from '../objects/object-ref.ts';
import type { Grants, Referrer } from './grants.ts';

/** The PEM text of authorities, or why there is none. */
export type Authorities = { readonly pem: string } | { readonly reason: 'kind' | 'missing' | 'forbidden'; readonly message: string };

/** Reads the authorities that an object refers to: the key `ca.crt` of ConfigMaps. All of them must be valid. */
export function readAuthorities(
  refs: readonly ObjectRef[],
  from: Referrer,
  grants: Grants,
  configs: ReadonlyMap<string, AuthorityConfig>,
): Authorities {
  const texts: string[] = [];
  for (const ref of refs) {
    const name = nameOf({ namespace: ref.namespace ?? from.namespace, name: ref.name });
    if (ref.kind !== 'ConfigMap' || ref.group !== '')
      return { reason: 'kind', message: `${ref.kind} ${name}: authorities are read from ConfigMaps only` };
    if (!grants.allows(from, ref)) return { reason: 'forbidden', message: `no ReferenceGrant allows the ConfigMap ${name}` };
    const config = configs.get(name);
    if (config === undefined) return { reason: 'missing', message: `the ConfigMap ${name} does not exist` };
    const { authorities } = config;
    if (authorities === null || !hasAuthorities(config, authorities))
      return { reason: 'missing', message: `the ConfigMap ${name} has no certificates in its key ca.crt` };
    texts.push(authorities.trim());
  }
  return { pem: `${texts.join('\n')}\n` };
}

/** Each version of a ConfigMap is parsed once. */
const known = new WeakMap<AuthorityConfig, boolean>();

function hasAuthorities(config: AuthorityConfig, text: string): boolean {
  const before = known.get(config);
  if (before !== undefined) return before;
  const result = isPem(text);
  known.set(config, result);
  return result;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function isPem(text: string): boolean {
  const blocks = text.match(BLOCK) ?? [];
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch {
    return false;
  }
  return blocks.length > 0;
}
