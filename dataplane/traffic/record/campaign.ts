/** Only the beginning of a query is searched: 8 KB crafted to be slow to search would take 26 µs instead of 7. */
const MAX_QUERY = 2_048;
/** The maximum length of a value (characters). */
const MAX_LENGTH = 100;
/** Escaped, a character takes at most twelve; the last one may be cut. */
const MAX_ESCAPED = (MAX_LENGTH + 1) * 12;

export const CAMPAIGN_PARAMETERS = ['utm_source', 'utm_medium', 'utm_campaign'] as const;
export type CampaignParameter = (typeof CAMPAIGN_PARAMETERS)[number];

/** The query of a target with its `?`, if it may have campaign parameters; otherwise empty. */
export const campaignQuery = (target: string, pathLength: number): string =>
  target.indexOf('utm_', pathLength) < 0 ? '' : target.slice(pathLength, pathLength + MAX_QUERY);

/** The value of the first parameter of this name in a query, decoded and cut; empty if there is none. */
export function campaignParameter(query: string, name: CampaignParameter): string {
  const assigned = `${name}=`;
  let at = query.indexOf(assigned);
  while (at > 0 && !'?&'.includes(query.charAt(at - 1))) at = query.indexOf(assigned, at + 1);
  if (at <= 0) return '';
  const from = at + assigned.length;
  const end = query.indexOf('&', from);
  const sent = query.slice(from, Math.min(end < 0 ? query.length : end, from + MAX_ESCAPED));
  return /[%+]/.test(sent) ? cut(decoded(sent)) : cut(sent);
}

function decoded(sent: string): string {
  const text = new URLSearchParams(`v=${sent}`).get('v') ?? '';
  return text.replace(/\p{Cc}+/gu, ' ').trim();
}

const cut = (text: string): string => (text.length > MAX_LENGTH ? [...text].slice(0, MAX_LENGTH).join('') : text);
