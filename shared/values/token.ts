/** A token (RFC 9110 5.6.2): the name of a method, a header field or a cookie. */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** One of at most 256 characters, which is enough for any name that a site may give. */
export const NAME_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
