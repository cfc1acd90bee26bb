/** What a browser calls a place that has no name of its own. */
export const DEFAULT_REALM = 'restricted';
