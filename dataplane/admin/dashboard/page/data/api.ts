/** Requests to the Admin API that this page came from. */

const BASE = new URL('..', location.href);
const STORED = 'sluice-token';

/** A request that failed; `status` 0: there was no response. */
export class RequestFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const storedToken = (): string | null => sessionStorage.getItem(STORED);

/** Keeps a token until the tab is closed. null forgets it. */
export function storeToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, token);
}

/** @throws RequestFailure */
export async function request(path: string, signal: AbortSignal): Promise<Response> {
  const token = storedToken();
  const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  try {
    response = await fetch(new URL(path, BASE), { headers, signal, cache: 'no-store' });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new RequestFailure(0, '');
  }
  if (response.ok) return response;
  throw new RequestFailure(response.status, await reasonOf(response));
}

/** @throws RequestFailure */
export async function get<T>(path: string, signal: AbortSignal): Promise<T> {
  const response = await request(path, signal);
  try {
    return (await response.json()) as T;
  } catch (error) {
    if (signal.aborted) throw error;
    throw new RequestFailure(0, '');
  }
}

/** A longer text is no reason, but a page. */
const MAX_REASON = 300;

/** The Admin API answers with JSON, the command that forwards to it with a sentence. */
async function reasonOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '');
  const isText = response.headers.get('content-type')?.startsWith('text/plain') === true;
  if (isText && text !== '' && text.length <= MAX_REASON) return text.trim().replace(/\.$/, '');
  try {
    const { error, message } = JSON.parse(text) as { error?: string; message?: string };
    return message ?? error ?? `${response.status} ${response.statusText}`;
  } catch {
    return `${response.status} ${response.statusText}`;
  }
}
