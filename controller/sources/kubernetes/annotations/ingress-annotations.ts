import { CLUSTER_PREFIX } from '../../../../shared/name.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import type { DirectiveReader } from '../../directive-reader.ts';
import { LABELS } from '../../labels/label-rules.ts';
import { type LabelForm, type LabelWarning, readLabels } from '../../labels/read-labels.ts';
import type { Ingress } from '../objects/ingress.ts';
import { readUsersRef, type UsersRef } from './basic-auth.ts';
import { readNginxAnnotations } from './nginx-annotations.ts';

/** The annotations of an Ingress, read. */
export type IngressAnnotations = {
  readonly members: RouteDraft;
  /** The Secret whose users may visit it; null: everyone. */
  readonly users: UsersRef | null;
  /** Why it is not accepted as written; empty if it is. */
  readonly reasons: readonly string[];
  readonly warnings: readonly LabelWarning[];
};

const ANNOTATIONS: LabelForm = { prefix: CLUSTER_PREFIX, needsDomain: false };

/**
 * Directives of the Sluicefile that are allowed in an annotation. None of them reads a file or connects to an address: that is reserved for
 * those who configure the proxy, and not open to everyone who may create an Ingress. The address in `forward_auth` is that of a Service.
 */
export const DIRECTIVES: readonly string[] = [
  ...['redir', 'rewrite', 'uri', 'header', 'request_header', 'ip_filter', 'forward_auth'],
  ...['cors', 'rate_limit', 'cache', 'encode', 'transport', 'https_redirect'],
];
const BASIC_AUTH = 'basic_auth';

/** The relevant parts of an Ingress besides its annotations. */
export const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['domain', 'the hosts are in spec.rules'],
  ['port', 'the port is in the backend'],
  ['network', 'it is for containers'],
  ['weight', 'it is for containers'],
  ['tls', 'it is in spec.tls'],
]);

const known = new WeakMap<Ingress, IngressAnnotations>();

/** Reads the annotations of an Ingress, each version of it once. */
export function annotationsOf(ingress: Ingress, readDirective: DirectiveReader): IngressAnnotations {
  const before = known.get(ingress);
  if (before) return before;
  const result = read(ingress.annotations, readDirective);
  known.set(ingress, result);
  return result;
}

function read(annotations: Ingress['annotations'], readDirective: DirectiveReader): IngressAnnotations {
  const labels: Record<string, string> = {};
  const reasons: string[] = [];
  const members: RouteDraft[] = [];
  let users: UsersRef | null = null;
  for (const name of Object.keys(annotations).sort()) {
    if (!name.startsWith(CLUSTER_PREFIX)) continue;
    const word = name.slice(CLUSTER_PREFIX.length);
    const text = annotations[name] ?? '';
    const elsewhere = ELSEWHERE.get(word);
    if (elsewhere !== undefined) reasons.push(`${name} does not apply to an Ingress: ${elsewhere}`);
    if (word === BASIC_AUTH) {
      const ref = readUsersRef(text);
      if (ref.ok) users = ref.value;
      else reasons.push(`${name}: ${ref.reason}`);
    } else if (!DIRECTIVES.includes(word) || isLabel(name, word, text)) labels[name] = text;
    else {
      const reading = readDirective(word, text);
      if ('members' in reading) members.push(reading.members);
      else reasons.push(...reading.reasons.map((reason) => `${name}: ${reason}`));
    }
  }
  const { sites, bad, warnings } = readLabels(labels, ANNOTATIONS);
  reasons.push(...bad.flatMap((site) => site.reasons));
  const named = sites.find(({ site }) => site !== null);
  if (named) reasons.push(`${CLUSTER_PREFIX}${named.site}.* names a second site, which an Ingress does not have`);
  const { reasons: unprotected, ineffective } = readNginxAnnotations(annotations);
  reasons.push(...unprotected);
  const told = ineffective === null ? warnings : [...warnings, { code: 'unknown_label' as const, domain: null, message: ineffective }];
  return { members: joined([sites[0]?.members ?? {}, ...members]), users, reasons, warnings: told };
}

/**
 * Some names belong to both a label and a directive; the directive is more expressive. The label `header` is followed by the name of a
 * field.
 */
const isLabel = (name: string, word: string, text: string): boolean =>
  word !== 'header' && LABELS.has(word) && readLabels({ [name]: text }, ANNOTATIONS).bad.length === 0;

/** Headers and connection options of all of them are combined; anything else may be set only once. */
function joined(parts: readonly RouteDraft[]): RouteDraft {
  const headers = parts.flatMap((part) => part.headers ?? []);
  const transports = parts.flatMap((part) => part.transport ?? []);
  return {
    ...Object.assign({}, ...parts),
    ...(headers.length > 0 && { headers }),
    ...(transports.length > 0 && { transport: Object.assign({}, ...transports) }),
  };
}
