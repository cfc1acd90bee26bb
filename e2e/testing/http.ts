import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };
export type Ask = { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer };

/** Sends one request on a new connection and reads the response to its end. */
export function ask(
  where: { readonly port: number; readonly host?: string } | { readonly socketPath: string },
  path: string,
  { method = 'GET', headers = {}, body }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = { host: '127.0.0.1', ...where, path, method, headers, agent: false };
    const request = httpRequest(options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A visitor's GET of a host through the proxy. */
export const visit = (port: number, host: string, path = '/', more: Ask = {}): Promise<Answer> =>
  ask({ port }, path, { ...more, headers: { host, ...more.headers } });
