import { displaySafe } from '../../../shared/wire/errors.ts';

/** Every error that the Admin API returns. A test compares this table with docs/reference/admin-api.md. */
export const ERRORS = {
  invalidJson: { status: 400, message: 'invalid JSON: ...', cause: 'The body is not JSON, or a member is missing or has the wrong type' },
  invalidDomain: { status: 400, message: 'invalid domain: ...', cause: 'The domain fails validation' },
  invalidUpstream: {
    status: 400,
    message: 'invalid upstream address: ...',
    cause: 'The upstream is neither host:port nor unix/ followed by the path of a socket',
  },
  invalidCertificate: {
    status: 400,
    message: 'invalid certificate: ...',
    cause: "The certificate or its key can't be used, they don't belong together, or a domain is not covered",
  },
  missingDomain: {
    status: 400,
    message: 'missing domain',
    cause: 'The path of a DELETE, or of a POST that retries an order, has no domain',
  },
  missingKey: { status: 400, message: 'missing cache key', cause: 'The path of a PURGE has no host, or ends after it' },
  invalidPath: { status: 400, message: 'invalid path: ...', cause: 'The path has a bad percent-escape' },
  invalidQuery: { status: 400, message: 'invalid query: ...', cause: 'A query parameter is missing or has an unknown value' },
  malformedStream: { status: 400, message: 'malformed apply stream: ...', cause: 'A line of an apply stream is malformed' },
  unauthorized: { status: 401, message: 'unauthorized', cause: 'The bearer token is absent or wrong (TCP)' },
  foreign: {
    status: 403,
    message: 'forbidden: ...',
    cause: 'A browser sent the request on behalf of another site, or Host is not a name of this service',
  },
  viewOnly: {
    status: 403,
    message: 'forbidden: the view token only reads routes, analytics and status',
    cause: 'The view token was sent for something else, such as the settings or a change',
  },
  notFound: { status: 404, message: 'not found', cause: 'The path does not exist' },
  routeNotFound: { status: 404, message: 'route not found', cause: 'DELETE of a domain that has no route' },
  controllerNotFound: { status: 404, message: 'controller not found', cause: 'DELETE of a controller that has never applied anything' },
  certificateNotFound: { status: 404, message: 'certificate not found', cause: 'DELETE of a domain without a posted certificate' },
  nothingToRetry: {
    status: 404,
    message: 'no order waits for that domain',
    cause: 'POST of a domain for which no certificate is ordered, or whose order neither failed nor waits behind others',
  },
  rootNotFound: {
    status: 404,
    message: 'no internal authority',
    cause: 'GET /certificates/root: no site has had a certificate from the internal authority yet',
  },
  analyticsNotFound: { status: 404, message: 'no analytics for domain', cause: 'The domain has had no traffic since the start' },
  historyOff: { status: 404, message: 'no history', cause: 'The data plane was started with --analytics-retention off' },
  metricsOff: { status: 404, message: 'metrics not enabled', cause: 'The data plane was started with --no-metrics' },
  wrongMethod: {
    status: 405,
    message: 'method not allowed',
    cause: 'The path does not support the method; Allow lists the methods it supports',
  },
  controllerConnected: {
    status: 409,
    message: 'controller is connected',
    cause: 'DELETE of a controller that is connected: end it first',
  },
  slowBody: { status: 408, message: 'request timeout', cause: 'The body did not arrive within 30 seconds' },
  tooLarge: { status: 413, message: 'request body too large', cause: 'The body is over 64 KB' },
  reloadFailed: { status: 422, message: 'reload failed', cause: 'POST /reload?wait=true: the config file has errors, listed in errors' },
  rateLimit: { status: 429, message: 'rate limit exceeded', cause: 'More requests within 60 seconds than the limit' },
  reloadTooSoon: { status: 429, message: 'reload too soon', cause: 'Less than 5 seconds since the last reload' },
  serialize: { status: 500, message: 'serialize error: ...', cause: 'An internal failure while the response was made' },
  noReload: {
    status: 501,
    message: 'reload not supported — config watcher not active',
    cause: 'No controller with a config file is connected',
  },
  noCache: { status: 501, message: 'cache not enabled', cause: 'PURGE without a cache' },
  unsaved: { status: 503, message: 'not saved: ...', cause: 'The disk refused the change; nothing was applied' },
  unacknowledged: {
    status: 503,
    message: 'not served yet: ...',
    cause: 'The change is saved, but not every worker serves it after 5 seconds',
  },
  unremoved: { status: 503, message: 'not removed from disk: ...', cause: 'PURGE: the files could not be deleted within 5 seconds' },
  historyUnavailable: {
    status: 503,
    message: 'history not available: ...',
    cause: 'The history can’t be read, or takes too long to answer',
  },
  tooManyStreams: {
    status: 503,
    message: 'too many event streams',
    cause: 'GET /events: 256 streams are open already. Close a dashboard, or try again later',
  },
  reloadUnanswered: {
    status: 503,
    message: 'reload not answered: ...',
    cause: 'The controller did not report in time how the reload ended',
  },
} as const satisfies Record<string, { status: number; message: string; cause: string }>;

export type ErrorName = keyof typeof ERRORS;

/** An error response. `detail` replaces the dots of the message. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(name: ErrorName, detail = '', more: { headers?: Record<string, string>; body?: Record<string, unknown> } = {}) {
    const { status, message } = ERRORS[name];
    const text = message.endsWith('...') ? message.slice(0, -3) + displaySafe(detail) : message;
    super(text);
    this.status = status;
    this.headers = more.headers ?? {};
    this.body = { error: text, ...more.body };
  }
}
