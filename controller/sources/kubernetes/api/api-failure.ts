/** What the API server rejects, or why it can't be reached, in one line that includes what to do. */
export class ApiFailure extends Error {
  /** The status of the response; null if there was none. */
  readonly status: number | null;
  /** How long the server requests to wait before the next request (ms); 0 if it doesn't. */
  readonly retryAfterMs: number;

  constructor(message: string, status: number | null = null, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The version to resume from is too old (HTTP 410): everything is listed again. */
export const isExpired = (error: unknown): boolean => error instanceof ApiFailure && error.status === 410;

/** The API server has no such kind of object (HTTP 404): its definition is not installed. */
export const isUnknown = (error: unknown): boolean => error instanceof ApiFailure && error.status === 404;

/** A failed response. `body` is a `Status` object, or any text; `retryAfter` is the field of that name, in seconds. */
export function refusedBy(where: string, path: string, status: number, body: string, retryAfter = ''): ApiFailure {
  const reason = messageIn(body);
  if (status === 401)
    return new ApiFailure(
      `the cluster at ${where} refuses the credentials (401); renew the kubeconfig or the service account’s token`,
      401,
    );
  if (status === 403)
    return new ApiFailure(
      `the cluster at ${where} forbids ${path} (403): ${reason}; bind the role of deploy/kubernetes to this account`,
      403,
    );
  const seconds = /^\d{1,4}$/.test(retryAfter) ? Number(retryAfter) : 0;
  return new ApiFailure(
    `the cluster at ${where} answers ${status} to ${path}${reason === '' ? '' : `: ${reason}`}`,
    status,
    seconds * 1_000,
  );
}

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is unknown',
  EAI_AGAIN: 'its name can’t be resolved right now',
  ETIMEDOUT: 'it does not respond',
  ECONNRESET: 'it closed the connection',
};

/** A request that got no response. */
export function unreachable(where: string, error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  return new ApiFailure(`the cluster at ${where} can’t be reached: ${HINTS[code] ?? (message || code)}`);
}

const LONGEST_REASON = 300;

function messageIn(body: string): string {
  let text = body;
  try {
    text = String((JSON.parse(body) as { message?: unknown }).message ?? '');
  } catch {
    // Not a Status: a load balancer's page.
  }
  return text.replace(/\s+/g, ' ').trim().slice(0, LONGEST_REASON);
}
