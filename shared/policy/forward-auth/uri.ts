import { parseTemplate } from '../../placeholders/template.ts';

const SHAPE = /^\/(?!\/)[\x21-\x7e]*$/;
const REASON = 'a path must start with / and must not contain spaces';

/** What is wrong with the path that is requested from an authentication server; undefined if nothing is. */
export function faultOfUri(text: string): string | undefined {
  if (!SHAPE.test(text)) return REASON;
  const template = parseTemplate(text, 'request');
  return 'fault' in template ? `"${template.written}" ${template.fault}` : undefined;
}
