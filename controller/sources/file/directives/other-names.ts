import { SITE_POLICIES } from '../../../../shared/policy/policies.ts';

/** Directives of other proxies, and their names here. */
export const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ...SITE_POLICIES.flatMap(({ directive }) => directive?.otherNames?.map((other) => [other, directive.name] as const) ?? []),
  ['include', 'import'],
  ['proxy', 'reverse_proxy'],
  ['proxy_pass', 'reverse_proxy'],
  ['ssl', 'tls'],
]);

/** The same for globals. */
export const OTHER_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['acme_ca', 'acme_directory'],
  ['default_bind', 'bind'],
  ['grace_period', 'drain_timeout'],
  ['listen', 'bind'],
  ['worker_connections', 'max_connections'],
]);
