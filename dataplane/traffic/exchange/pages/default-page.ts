import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { displaySafe } from '../../../../shared/wire/errors.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';

const HTML = 'Content-Type: text/html; charset=utf-8\r\n';

/** The small page for a status if the site has no page of its own, as HTML or JSON depending on what the client accepts. */
export function defaultPage(requestFields: string, status: number): { readonly fields: string; readonly body: string } {
  const title = displaySafe(STATUS_CODES[status] ?? 'Error');
  const accept = fieldIn(requestFields, 'accept') ?? '';
  if (accept.includes('json') && !accept.includes('text/html'))
    return { fields: 'Content-Type: application/json\r\n', body: JSON.stringify({ error: title, status }) };
  const body = `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>${status} ${title}</title>\n<body style="font:16px/1.5 system-ui;margin:15vh auto;max-width:30em;text-align:center">\n<h1>${status}</h1><p>${title}</p>\n</html>\n`;
  return { fields: HTML, body };
}
