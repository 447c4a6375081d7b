/* time(x) */
int a(void)
{
	return c->time(3) + time(NULL) + x_time(2);
}
float b;
 char *p = "printf(";
	printf("a");
 void *m = malloc(3);
