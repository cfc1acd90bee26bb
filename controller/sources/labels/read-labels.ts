import { closest } from '../../../shared/closest.ts';
import { LABEL_PREFIX } from '../../../shared/name.ts';
import type { Domain } from '../../../shared/values/host.ts';
import { LABELS, type LabelDraft } from './label-rules.ts';
import { protectionOf } from './protections.ts';

/** How labels are written: as labels of containers, or as annotations of objects in a cluster. */
export type LabelForm = {
  readonly prefix: string;
  /** Whether an object without a domain requests no site. Otherwise its sites are known from elsewhere. */
  readonly needsDomain: boolean;
};

const CONTAINER_LABELS: LabelForm = { prefix: LABEL_PREFIX, needsDomain: true };

/** One site requested by a container. */
export type SiteLabels = Readonly<LabelDraft> & {
  /** From `sluice.<name>.domain`; null for the site without a name. */
  readonly site: string | null;
  /** The site's labels, without those of the single container, as given: differences within a pool are reported. */
  readonly common: ReadonlyMap<string, string>;
};

/** A site that can't be routed as given: some of its labels are invalid, the others were read. */
export type InvalidSite = SiteLabels & { readonly reasons: readonly string[] };

export type LabelWarning = { readonly code: 'unknown_label'; readonly domain: Domain | null; readonly message: string };

export type ReadLabels = {
  readonly sites: readonly SiteLabels[];
  readonly bad: readonly InvalidSite[];
  readonly warnings: readonly LabelWarning[];
};

/** How long the labels of one object may be together (characters), as in Kubernetes. */
const MAX_LENGTH = 262_144;
/** How long they may become (characters): each domain of a site is a route with all of its settings. */
const MAX_REPEATED = 33_554_432;

/** How many mistakes of one site are listed. A label that concerns all sites is one for each of them, so thousands of both would be millions. */
const MAX_REASONS = 100;

type Draft = LabelDraft & { site: string | null; common: Map<string, string>; reasons: string[] };

/**
 * Reads the labels of one container. Never throws; an error invalidates only its own site. Sites without a name come first, then by name.
 */
export function readLabels(labels: Readonly<Record<string, string>>, form: LabelForm = CONTAINER_LABELS): ReadLabels {
  const { prefix, needsDomain } = form;
  const drafts = new Map<string | null, Draft>();
  const unknown: string[] = [];
  const own = Object.keys(labels).filter((label) => label.startsWith(prefix));
  if (own.reduce((sum, label) => sum + label.length + (labels[label] ?? '').length, 0) > MAX_LENGTH) return tooLong(prefix);
  for (const label of own.sort()) {
    const place = placeOf(label.slice(prefix.length));
    if (place === undefined) unknown.push(label);
    else readOne(draftOf(drafts, place.site), label, place, (labels[label] ?? '').trim());
  }
  const all = [...drafts.values()].sort((a, b) => ((a.site ?? '') < (b.site ?? '') ? -1 : 1));
  const harmless = unknown.filter((label) => !refuseUnprotected(label, labels[label] ?? '', drafts, prefix));
  for (const { site, domains, reasons } of all)
    if (needsDomain && domains.length === 0 && reasons.length === 0)
      addReason(reasons, oneLine(`${prefix}${site === null ? '' : `${site}.`}domain is missing: set it to the domain of the site`));
  limitRepetition(all);
  const firstDomain = all.find(({ domains }) => domains.length > 0)?.domains[0] ?? null;
  return {
    sites: all.filter(({ reasons }) => reasons.length === 0),
    bad: all.filter(({ reasons }) => reasons.length > 0),
    warnings: harmless.map((label) => ({
      code: 'unknown_label' as const,
      domain: firstDomain,
      message: oneLine(`${label} is not a Sluice label${suggestion(label, prefix)}`),
    })),
  };
}

/** Refuses the sites whose settings are too long for all of their domains, together with those of the sites before them. */
function limitRepetition(drafts: readonly Draft[]): void {
  let sum = 0;
  for (const { domains, common, reasons } of drafts) {
    for (const [label, value] of common) if (label !== 'domain') sum += domains.length * (label.length + value.length);
    if (sum > MAX_REPEATED) addReason(reasons, `its settings are too long for ${domains.length} domains`);
  }
}

function tooLong(prefix: string): ReadLabels {
  const reasons = [`the labels ${prefix}* are longer than ${MAX_LENGTH} characters together`];
  return { sites: [], bad: [{ ...emptyDraft(null), reasons }], warnings: [] };
}

/**
 * Refuses the site of an unknown label that means a protection, or every site if it names none that exists.
 * @returns whether there was one to refuse.
 */
function refuseUnprotected(label: string, value: string, drafts: ReadonlyMap<string | null, Draft>, prefix: string): boolean {
  const protection = protectionOf(label.slice(prefix.length), value.trim());
  if (protection === undefined) return false;
  const own = drafts.get(protection.site);
  const open = own === undefined ? [...drafts.values()] : [own];
  // The value may contain a password.
  const reason = oneLine(`${label} is not a Sluice label, and the site would be open without what it means: ${protection.advice}`);
  for (const { reasons } of open) addReason(reasons, reason);
  return open.length > 0;
}

type LabelName = { readonly site: string | null; readonly word: string; readonly header: string | null };

const SITE_NAME = /^[A-Za-z0-9_-]{1,63}$/;

/** `port`, `api.port`, `header.X-A`, `api.header.X-A`. */
function placeOf(rest: string): LabelName | undefined {
  const own = parseLabelWord(rest);
  if (own) return { site: null, ...own };
  const dot = rest.indexOf('.');
  const named = SITE_NAME.test(rest.slice(0, dot)) ? parseLabelWord(rest.slice(dot + 1)) : undefined;
  return named && { site: rest.slice(0, dot), ...named };
}

function parseLabelWord(text: string): Omit<LabelName, 'site'> | undefined {
  if (text.startsWith('header.')) return { word: 'header', header: text.slice('header.'.length) };
  return text !== 'header' && LABELS.has(text) ? { word: text, header: null } : undefined;
}

function draftOf(drafts: Map<string | null, Draft>, site: string | null): Draft {
  const known = drafts.get(site);
  if (known) return known;
  const draft = emptyDraft(site);
  drafts.set(site, draft);
  return draft;
}

const emptyDraft = (site: string | null): Draft => ({
  site,
  common: new Map(),
  reasons: [],
  domains: [],
  port: null,
  network: null,
  weight: 1,
  members: {},
});

function readOne(draft: Draft, label: string, { word, header }: LabelName, value: string): void {
  const rule = LABELS.get(word);
  if (!rule) return;
  if (!rule.perContainer) draft.common.set(header === null ? word : `header.${header}`, value);
  const wrong = value === '' && word !== 'header' ? 'it is empty' : rule.read(value, draft, header ?? '');
  if (wrong === undefined) return;
  addReason(draft.reasons, oneLine(`${label} "${value.slice(0, 200)}": ${wrong}; the form is ${label}=${rule.form}`));
}

function addReason(reasons: string[], reason: string): void {
  if (reasons.length < MAX_REASONS) reasons.push(reason);
  else if (reasons.length === MAX_REASONS) reasons.push('further mistakes of this site are not listed');
}

const LONGEST_MESSAGE = 1_000;

/** Line ends and invisible characters are spelled out, since labels can contain any text. */
function oneLine(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, (char) => `<U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}>`);
  return shown.length > LONGEST_MESSAGE ? `${shown.slice(0, LONGEST_MESSAGE)}…` : shown;
}

/** ` (did you mean …?)` for the closest label, or an empty string. */
function suggestion(label: string, prefix: string): string {
  const rest = label.slice(prefix.length);
  const dot = rest.lastIndexOf('.');
  const front = dot > 0 ? rest.slice(0, dot + 1) : '';
  const meant = closest(rest.slice(front.length).toLowerCase(), [...LABELS.keys()]);
  return meant === undefined ? '' : ` (did you mean ${prefix}${front}${meant}?)`;
}
