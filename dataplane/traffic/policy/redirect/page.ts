import type { OwnAnswer } from '../../exchange/own-answer.ts';

/**
 * `redir … html`: a page that redirects, for clients that don't follow redirects. The location contains visible ASCII only, and leads to a
 * path or to http or https, as the schema demands; it needs no script.
 */
export function redirectPage(location: string): OwnAnswer {
  const url = location.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
  return {
    status: 200,
    fields: 'Content-Type: text/html; charset=utf-8\r\n',
    body: `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Redirecting</title>\n<meta http-equiv="refresh" content="0; url='${url}'">\n<p>Redirecting to <a href="${url}">${url}</a></p>\n</html>\n`,
    reason: 'redirected',
  };
}
