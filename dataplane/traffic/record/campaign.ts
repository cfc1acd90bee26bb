/** Most characters of a value. */
const MAX_LENGTH = 100;
/** Escaped, a character takes at most twelve; the last one may be cut. */
const MAX_ESCAPED = (MAX_LENGTH + 1) * 12;

export const CAMPAIGN_PARAMETERS = ['utm_source', 'utm_medium', 'utm_campaign'] as const;
export type CampaignParameter = (typeof CAMPAIGN_PARAMETERS)[number];

/** Whether the query of a target may have parameters of a campaign. */
export const mayNameCampaign = (target: string, pathLength: number): boolean => target.indexOf('utm_', pathLength) > 0;

/** The value of the first parameter of this name in the query of a target, decoded and cut; empty if there is none. */
export function campaignParameter(target: string, name: CampaignParameter, pathLength: number): string {
  const assigned = `${name}=`;
  let at = target.indexOf(assigned, pathLength);
  while (at > 0 && !'?&'.includes(target.charAt(at - 1))) at = target.indexOf(assigned, at + 1);
  if (at < 0) return '';
  const from = at + assigned.length;
  const end = target.indexOf('&', from);
  const sent = target.slice(from, Math.min(end < 0 ? target.length : end, from + MAX_ESCAPED));
  const decoded = new URLSearchParams(`v=${sent}`).get('v') ?? '';
  return cut(decoded.replace(/\p{Cc}+/gu, ' ').trim());
}

const cut = (text: string): string => (text.length > MAX_LENGTH ? [...text].slice(0, MAX_LENGTH).join('') : text);
